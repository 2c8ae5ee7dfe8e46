"""Before anything else: what the inventory asks for makes sense."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from pyinfra import inventory
from pyinfra.api import DeployError, deploy
from pyinfra.api.host import Host

from stoker.container import asked, wanted
from stoker.operations.container import access
from stoker.refused import Refused
from stoker.serving import hostdata
from stoker.serving.checking import wished

# Of the working directory, as pyinfra's own files are: a site is a directory of its own.
SITE = Path()
_KEYS = (
    *(*hostdata.KEYS, *hostdata.PLACE),
    *(*wanted.KEYS, *asked.KEYS, access.KEY),
)


@deploy("Flag sets")
def flagsets() -> None:
    """Every host's data is sound and every flag set it names can work, as far as that shows without
    the host; or the run ends here."""
    try:
        data = {machine.name: _data(machine) for machine in inventory}
        _check(data)
        wished.check(SITE, _named(data.values()))
    except Refused as error:
        raise DeployError(str(error)) from error


def _check(data: dict[str, dict[str, Any]]) -> None:
    """Raises `Refused` with every problem of every host, whoever finds it."""
    found: list[str] = []
    of_site = partial(hostdata.check, SITE)
    for check in (of_site, wanted.check, asked.check, access.check):
        try:
            check(data)
        except Refused as error:
            found += str(error).splitlines()
    if found:
        raise Refused("\n".join(dict.fromkeys(found)))


def _named(data: Iterable[dict[str, Any]]) -> list[str]:
    """The flag sets of all hosts, each once."""
    return list(dict.fromkeys(name for one in data for name in one.get("flagsets", ())))


def _data(machine: Host) -> dict[str, Any]:
    """Ours of its data. Who serves must name its flag sets, `[]` for none: a misspelt key would
    otherwise take all its servers away."""
    data = {key: machine.data.get(key) for key in _KEYS}
    needed = {"flagsets"} if "inference" in machine.groups else set()
    return {key: value for key, value in data.items() if value is not None or key in needed}
