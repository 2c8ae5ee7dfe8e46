"""The driver's libraries in a container: of exactly the version of the node's loaded module."""

from collections.abc import Generator
from typing import Any

from pyinfra import host
from pyinfra.api import FunctionCommand, OperationError, QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.container import parity
from stoker.container.asked import Driver
from stoker.container.libraries import CONF, CONF_TEXT, CURRENT, FOLDERS, HOME, NVIDIA_SMI, Inside
from stoker.container.parity import Plan
from stoker.facts.driver_libraries import (
    DriverLibraries,
    DriverUses,
    module_words,
    modules,
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
    try:
        loaded, installed = _modules(host)
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
        yield FunctionCommand(_carried_out, [wanted, found, loaded, installed, driver], {})
    elif parity.superseded(loaded, found):
        yield from _tidied(loaded, found)
    else:
        host.noop(f"the driver's libraries are of {loaded}, as its node's module is")


@operation()
def held() -> Commands:
    """No upgrade replaces the driver's packages in the container; nothing is installed."""
    try:
        loaded, _ = _modules(host)
        loose = unheld(_inside(host, loaded).packages)
    except Refused as error:
        yield refused(error)
        return
    if loose:
        yield StringCommand("apt-mark", "hold", *map(QuoteString, loose))
    else:
        host.noop("every package of the driver is held")


def _modules(machine: Any) -> tuple[str, str]:
    """Versions of the node's module, loaded and on disk. Raises `Refused` if there is no saying."""
    connector: Any = getattr(machine, "connector", None)
    if connector is None or getattr(connector, "vmid", None) is None:
        raise Refused(
            f"cannot match the driver's libraries: {machine.name} is no container that is reached "
            "through its node; name it @pct/NODE/VMID"
        )
    try:
        asked = connector.node.run(module_words(), timeout=_ASK_S)
    except OSError as error:  # the node, or the line to it
        raise Refused(f"cannot match the driver's libraries: {error}") from error
    return modules(asked.stdout)


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


def _carried_out(
    state: Any,
    machine: Any,
    wanted: Plan,
    found: Inside,
    loaded: str,
    installed: str,
    driver: Driver,
) -> bool:
    try:
        if wanted.place and loaded not in found.trees:
            _send(machine, loaded, installed, driver.source)
        words = (HOME, loaded, CURRENT, CONF, CONF_TEXT.strip(), NVIDIA_SMI)
        said: list[str] = []
        if wanted.place:
            said = _run(machine, driver_scripts.SWITCH, *words, what="use them")
        if wanted.remove:
            packages = " ".join(sorted({one.package for one in wanted.remove if one.package}))
            versions = " ".join(sorted({one.version for one in wanted.remove}))
            _run(machine, driver_scripts.REMOVE, packages, versions, *FOLDERS, what="remove others")
        if wanted.withdraw:
            said = _run(machine, driver_scripts.WITHDRAW, *words, what="leave off ours")
        if not parity.fitting(loaded, _inside(machine, loaded)):
            raise Refused(
                "cannot match the driver's libraries: it was done, and the loader still takes "
                "others; see ldconfig -p | grep libcuda in the container"
            )
    except (Refused, OperationError, OSError) as error:
        return bool(refused(error).function(state, machine, str(error)))
    machine.log(f"the driver's libraries are of {loaded} now, as its node's module is")
    for sentence in parity.still_used(uses(said), loaded):
        warned(machine, sentence)
    return True


def _send(machine: Any, loaded: str, installed: str, source: str | None) -> None:
    """A tree of that version is built in the container, and not in use yet."""
    node, vmid, new = machine.connector.node, machine.connector.vmid, f"{HOME}/{loaded}.stoker-new"
    _run(machine, driver_scripts.PREPARE, new, what="make room for them")
    with driver_source.ONE_AT_A_TIME[node.name]:
        kind, path = driver_source.on_node(node, source)
        machine.log(f"bringing the driver's libraries of {loaded} in, from {path or 'the node'}")
        words = ["bash", "-c", driver_scripts.SEND, "stoker", str(vmid), loaded, new, kind, path]
        sent = node.run([*words, *FOLDERS], timeout=_SEND_S)
    if sent.code == 0:
        return
    said = sent.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2] or "no reason"
    other = installed and installed != loaded and source is None
    raise Refused(
        f"cannot match the driver's libraries: {loaded} is loaded on the node, and "
        f"{path or 'the node itself'} did not give them: {said}; "
        + (
            f"reboot the node or reload its module, since {installed} is installed"
            if other
            else 'name another source: driver = {"source": "/path/of/a.run"}'
        )
    )


def _run(machine: Any, script: str, *words: str, what: str) -> list[str]:
    """What the script said in the container."""
    command = StringCommand("sh", "-c", QuoteString(script), "sh", *map(QuoteString, words))
    done, output = machine.run_shell_command(command, _timeout=_SEND_S)
    if not done:
        said = str(output.stderr).strip().rpartition("\n")[2] or "no reason"
        raise Refused(f"cannot match the driver's libraries: cannot {what}: {said}")
    return list(output.stdout_lines)
