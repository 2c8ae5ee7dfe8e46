"""Bringing the driver's libraries into a container, and making the loader take them."""

import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from pyinfra.api import OperationError, QuoteString, StringCommand

from stoker.container import parity
from stoker.container.libraries import (
    CONF,
    CONF_TEXT,
    HOME,
    NVIDIA_SMI,
    Inside,
    Use,
)
from stoker.container.parity import Plan
from stoker.facts.driver_libraries import INSTALLED, DriverLibraries, uses
from stoker.health.driver_folders import CURRENT, FOLDERS
from stoker.operations import driver_scripts, driver_source
from stoker.operations.once import warned
from stoker.operations.refusal import failed
from stoker.refused import Refused

_ASK_S = 30
_FULL = re.compile(r"No space left|Disk quota|Wrote only")
_SEND_S = 1800


@dataclass(frozen=True)
class Work:
    """What is to be done, and from where."""

    plan: Plan
    loaded: str
    there: bool
    """A tree of the loaded version is complete already."""
    source: str | None


def carried_out(state: Any, host: Any, work: Work) -> bool:
    """False after a failure, which is told."""
    try:
        using = _done(host, work)
    except (Refused, OperationError, OSError) as error:
        return failed(host, error)
    host.log(f"the driver's libraries are of {work.loaded} now, as its node's module is")
    for sentence in parity.still_used(using, work.loaded):
        warned(host, sentence)
    return True


def on_node(machine: Any, words: Sequence[str]) -> str:
    """What this says on the container's node. Raises `Refused` if it cannot be asked."""
    try:
        said = machine.connector.node.run(words, timeout=_ASK_S).stdout
    except OSError as error:  # the node, or the line to it
        raise Refused(f"cannot match the driver's libraries: {error}") from error
    return str(said.decode("utf-8", "replace").strip())


def inside(machine: Any, loaded: str) -> Inside:
    found: Inside | None = machine.get_fact(DriverLibraries, loaded=loaded)
    if found is None:
        raise Refused(
            f"cannot match the driver's libraries: {machine.name} does not say what it has; see "
            "whether it runs"
        )
    return found


def _done(machine: Any, work: Work) -> list[Use]:
    """Who uses which libraries afterwards. Others are removed only when the right ones are used."""
    sent = "sent" if work.plan.place and not work.there else ""
    if sent:
        _send(machine, work)
    words = (HOME, work.loaded, CURRENT, CONF, CONF_TEXT.strip(), NVIDIA_SMI)
    said: list[str] = []
    if work.plan.place:
        said = _run(machine, driver_scripts.SWITCH, *words, sent, what="use them")
    if others := work.plan.remove:
        packages = " ".join(sorted({one.package for one in others if one.package}))
        versions = " ".join(sorted({one.version for one in others}))
        _run(machine, driver_scripts.REMOVE, packages, versions, *FOLDERS, what="remove others")
    if work.plan.withdraw:
        said = _run(machine, driver_scripts.WITHDRAW, *words, what="leave off ours")
    if not parity.fitting(work.loaded, inside(machine, work.loaded)):
        raise Refused(
            "cannot match the driver's libraries: it was done, and the loader still takes others; "
            "see ldconfig -p | grep libcuda in the container"
        )
    return uses(said)


def _send(machine: Any, work: Work) -> None:
    """A tree of that version is built in the container, and not in use yet."""
    node, vmid, new = machine.connector.node, machine.connector.vmid, _new(work.loaded)
    _run(machine, driver_scripts.PREPARE, new, what="make room for them")
    turn = driver_source.ONE_AT_A_TIME[node.name]
    with turn:
        kind, path = driver_source.on_node(node, work.source)
    machine.log(f"bringing the libraries of {work.loaded} in, from {path or 'the node'}")
    words = ["bash", "-c", driver_scripts.SEND, "stoker", str(vmid), work.loaded, new]
    with nullcontext() if kind == "node" else turn:
        sent = node.run([*words, kind, path, *FOLDERS], timeout=_SEND_S)
    if sent.code != 0:
        said = _telling(sent.stderr.decode("utf-8", "replace"))
        if sent.code == driver_scripts.FROZEN:
            raise Refused(f"cannot match the driver's libraries: {said}")
        raise Refused(_not_sent(work, on_node(machine, INSTALLED), path, said))


def _telling(said: str) -> str:
    """The last line that says something; tar's own last one never does."""
    lines = [line.strip() for line in said.splitlines() if "Exiting with failure" not in line]
    return next((line for line in reversed(lines) if line), "no reason")


def _new(version: str) -> str:
    return f"{HOME}/{version}.stoker-new"


def _not_sent(work: Work, installed: str, path: str, said: str) -> str:
    todo = 'name another source: driver = {"source": "/path/of/a.run"}'
    if _FULL.search(said):
        todo = f"make room for them in the container, below {HOME}"
    elif work.source is None and installed not in ("", work.loaded):
        todo = f"reboot the node or reload its module, since {installed} is installed"
    return (
        f"cannot match the driver's libraries: {work.loaded} is loaded on the node, and "
        f"{path or 'the node itself'} did not give them: {said}; {todo}"
    )


def _run(machine: Any, script: str, *words: str, what: str) -> list[str]:
    """What the script said in the container."""
    command = StringCommand("sh", "-c", QuoteString(script), "sh", *map(QuoteString, words))
    done, output = machine.run_shell_command(command, _timeout=_SEND_S)
    if not done:
        said = str(output.stderr).strip().rpartition("\n")[2] or "no reason"
        raise Refused(f"cannot match the driver's libraries: cannot {what}: {said}")
    return list(output.stdout_lines)
