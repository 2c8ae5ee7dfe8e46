"""Units that nobody wants: stopped, and gone with their files, their reports and their models."""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from pyinfra.api import OperationError, QuoteString, StringCommand

from stoker.operations.starting import systemctl, take_down
from stoker.serving import layout

# Renamed first: a removal that is interrupted leaves nothing that looks like somebody else's copy.
_UNSTAGE = """
rm -rf -- "$1.partial"
[ ! -f "$1/.staged" ] || mv -- "$1" "$1.partial"
rm -rf -- "$1.partial"
"""


def remove(host: Any, units: Iterable[str], places: Iterable[str] = ()) -> None:
    """Servers and staging units, and the places in memory that nobody serves a model from."""
    names = tuple(units)
    if names:
        # A copy that is still being made ends too, or it would go on filling the memory.
        take_down(host, names)
    # The staging unit's file is what knows of the copy, so it goes last.
    for place in sorted(places):
        _run(host, unstaged(place))
    if names:
        _run(host, forgotten(names))
        systemctl(host, "daemon-reload")


def forgotten(units: Iterable[str]) -> StringCommand:
    """The command that removes all files of these units."""
    units = tuple(units)
    # By rm alone: `systemctl disable` refuses them all when one file is gone already.
    paths: list[PurePosixPath] = [layout.ENABLED / unit for unit in units]
    paths += [layout.env_file(unit) for unit in units]
    paths += [layout.unit_file(unit) for unit in units]
    paths += [layout.DEATHS / f"{unit}.{kind}" for unit in units for kind in ("json", "seen")]
    return StringCommand("rm", "-f", "--", *(QuoteString(str(path)) for path in paths))


def unstaged(place: str) -> StringCommand:
    """The command that frees the memory of a model that nobody serves any more: a whole copy only
    with our mark, and what an interrupted one left."""
    return StringCommand("sh", "-c", QuoteString(_UNSTAGE), "sh", QuoteString(place))


def _run(host: Any, command: StringCommand) -> None:
    done, output = host.run_shell_command(command)
    if not done:
        raise OperationError(f"cannot remove what nobody wants: {output.stderr}; correct it there")
