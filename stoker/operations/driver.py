"""The driver's libraries in a container: of exactly the version of the node's loaded module."""

from collections.abc import Generator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from pyinfra import host
from pyinfra.api import FunctionCommand, OperationError, QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.container import parity
from stoker.container.asked import Driver
from stoker.container.libraries import (
    CONF,
    CONF_TEXT,
    CURRENT,
    FOLDERS,
    HOME,
    NVIDIA_SMI,
    Inside,
    Use,
)
from stoker.container.parity import Plan
from stoker.facts.driver_libraries import (
    INSTALLED,
    LOADED,
    DriverLibraries,
    DriverPackages,
    DriverUses,
    uses,
)
from stoker.health.node_settings import unheld
from stoker.operations import driver_scripts, driver_source
from stoker.operations.once import warned
from stoker.operations.refusal import refused
from stoker.refused import Refused

Commands = Generator[PyinfraCommand, None, None]

_ASK_S = 30
_SEND_S = 1800


@operation()
def matched(driver: Driver) -> Commands:
    """A process of the container that starts now gets libraries of the loaded module's version.

    What runs is never restarted: who still has others is named.
    """
    if _vmid(host) is None:
        host.noop("it is reached without its node: nobody says which module is loaded")
        return
    try:
        loaded = _on_node(host, LOADED)
        if not loaded:
            host.noop("its node has no NVIDIA module loaded: there is nothing to match")
            return
        found = _inside(host, loaded)
        wanted = parity.plan(loaded, found, driver.replace)
    except Refused as error:
        yield refused(error)
        return
    if wanted.told:
        warned(host, wanted.told)
    if wanted.changes:
        work = _Work(wanted, loaded, loaded in found.trees, driver.source)
        yield FunctionCommand(_carried_out, [work], {})
    elif parity.superseded(loaded, found):
        yield from _tidied(loaded, found)
    else:
        host.noop(f"the driver's libraries are of {loaded}, as its node's module is")


@operation()
def held() -> Commands:
    """No upgrade replaces the driver's packages in the container; nothing is installed."""
    packages = host.get_fact(DriverPackages)
    loose = unheld(packages)
    if loose:
        yield StringCommand("apt-mark", "hold", *map(QuoteString, loose))
    else:
        host.noop("every package of the driver is held")


def _vmid(machine: Any) -> int | None:
    """Of a container that is reached through its node."""
    return getattr(getattr(machine, "connector", None), "vmid", None)


def _on_node(machine: Any, words: Sequence[str]) -> str:
    """What this says on the container's node. Raises `Refused` if it cannot be asked."""
    try:
        said = machine.connector.node.run(words, timeout=_ASK_S).stdout
    except OSError as error:  # the node, or the line to it
        raise Refused(f"cannot match the driver's libraries: {error}") from error
    return str(said.decode("utf-8", "replace").strip())


def _inside(machine: Any, loaded: str) -> Inside:
    found: Inside | None = machine.get_fact(DriverLibraries, loaded=loaded)
    if found is None:
        raise Refused(
            f"cannot match the driver's libraries: {machine.name} does not say what it has; see "
            "whether it runs"
        )
    return found


def _tidied(loaded: str, found: Inside) -> Commands:
    """Trees of before go once nobody uses them."""
    using = host.get_fact(DriverUses)
    for sentence in parity.still_used(using, loaded):
        warned(host, sentence)
    used = {use.tree for use in using}
    # Who cannot be looked into may use any of them.
    unknown = any(use.path == "/" for use in using)
    if not unknown and set(parity.superseded(loaded, found)) - used:
        version = found.current if found.conf else ""
        words = map(QuoteString, ("sh", HOME, version))
        yield StringCommand("sh", "-c", QuoteString(driver_scripts.TIDY), *words)


@dataclass(frozen=True)
class _Work:
    """What is to be done, and from where."""

    plan: Plan
    loaded: str
    there: bool
    """A tree of the loaded version is complete already."""
    source: str | None


def _carried_out(state: Any, host: Any, work: _Work) -> bool:
    """False after a failure, which is told."""
    try:
        using = _done(host, work)
    except (Refused, OperationError, OSError) as error:
        return bool(refused(error).execute(state, host, {}))
    host.log(f"the driver's libraries are of {work.loaded} now, as its node's module is")
    for sentence in parity.still_used(using, work.loaded):
        warned(host, sentence)
    return True


def _done(machine: Any, work: _Work) -> list[Use]:
    """Who uses which libraries afterwards. Others are removed only when the right ones are used."""
    if work.plan.place and not work.there:
        _send(machine, work)
    words = (HOME, work.loaded, CURRENT, CONF, CONF_TEXT.strip(), NVIDIA_SMI)
    said: list[str] = []
    if work.plan.place:
        said = _run(machine, driver_scripts.SWITCH, *words, what="use them")
    if others := work.plan.remove:
        packages = " ".join(sorted({one.package for one in others if one.package}))
        versions = " ".join(sorted({one.version for one in others}))
        _run(machine, driver_scripts.REMOVE, packages, versions, *FOLDERS, what="remove others")
    if work.plan.withdraw:
        said = _run(machine, driver_scripts.WITHDRAW, *words, what="leave off ours")
    if not parity.fitting(work.loaded, _inside(machine, work.loaded)):
        raise Refused(
            "cannot match the driver's libraries: it was done, and the loader still takes others; "
            "see ldconfig -p | grep libcuda in the container"
        )
    return uses(said)


def _send(machine: Any, work: _Work) -> None:
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
        said = sent.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Refused(_not_sent(work, _on_node(machine, INSTALLED), path, said or "no reason"))


def _new(version: str) -> str:
    return f"{HOME}/{version}.stoker-new"


def _not_sent(work: _Work, installed: str, path: str, said: str) -> str:
    todo = 'name another source: driver = {"source": "/path/of/a.run"}'
    if work.source is None and installed not in ("", work.loaded):
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
