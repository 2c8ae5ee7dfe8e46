"""The driver's libraries in a container: of exactly the version of the node's loaded module."""

from collections.abc import Generator
from typing import Any

from pyinfra import host
from pyinfra.api import FunctionCommand, QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.container import parity
from stoker.container.asked import Driver
from stoker.container.libraries import HOME, Inside
from stoker.facts.driver_libraries import LOADED, DriverPackages, DriverUses
from stoker.health.node_settings import unheld
from stoker.operations import driver_scripts
from stoker.operations.driver_placing import Work, carried_out, inside, on_node
from stoker.operations.once import warned
from stoker.operations.refusal import refused
from stoker.refused import Refused

Commands = Generator[PyinfraCommand, None, None]


@operation()
def matched(driver: Driver) -> Commands:
    """A process of the container that starts now gets libraries of the loaded module's version.

    What runs is never restarted: who still has others is named.
    """
    if _vmid(host) is None:
        host.noop("it is reached without its node: nobody says which module is loaded")
        return
    try:
        loaded = on_node(host, LOADED)
        if not loaded:
            host.noop("its node has no NVIDIA module loaded: there is nothing to match")
            return
        found = inside(host, loaded)
        wanted = parity.plan(loaded, found, driver.replace)
    except Refused as error:
        yield refused(error)
        return
    if wanted.told:
        warned(host, wanted.told)
    if wanted.changes:
        work = Work(wanted, loaded, loaded in found.trees, driver.source)
        yield FunctionCommand(carried_out, [work], {})
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
