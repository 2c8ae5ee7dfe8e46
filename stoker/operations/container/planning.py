"""What is to be done on one container, decided from one look at its node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stoker.container import (
    claims,
    configuration,
    creation,
    devices,
    difference,
    passing,
    raw_lines,
)
from stoker.container.configuration import Configuration
from stoker.container.devices import Device
from stoker.container.difference import Change, Difference, Effect
from stoker.container.passing import Passing
from stoker.container.raw_lines import Numbering
from stoker.container.wanted import Wanted
from stoker.facts.proxmox_node import NodeLook
from stoker.refused import Refused

CREATING = "create"
"""Proxmox's `lock:` while a container is being made."""
PASSING = (CREATING, "snapshot", "snapshot-delete")
"""Locks of work that a run begins, and that goes on without it. It takes no longer than a run."""


@dataclass(frozen=True)
class Plan:
    """One container as it is, and what it lacks."""

    vmid: int
    actual: Configuration | None
    """None: there is no such container."""
    running: bool = False
    creation: Mapping[str, str] = field(default_factory=dict)
    """All that it is to have when it is made."""
    difference: Difference = field(default_factory=Difference)
    later: tuple[Change, ...] = ()
    """What is wanted and comes with a start, set already or not."""
    text: str | None = None
    """Of its file."""
    raw: str | None = None
    """The same with `devN` in place of raw lines, where that is wanted."""
    noted: bool = False
    """A run stopped it for a change; where nobody has started it since, it is to be started."""
    starts: bool = False
    """It is to run and does not."""
    blind: tuple[str, ...] = ()
    """Nodes of its GPUs that it cannot use as it runs."""
    notes: tuple[str, ...] = ()
    """What stays as it is, a sentence each."""

    @property
    def creates(self) -> bool:
        """Whether it is not there."""
        return self.actual is None

    @property
    def made_with(self) -> dict[str, str]:
        """The options to make it with; the rest of `creation` is set before its first start."""
        return creation.first(self.creation)

    @property
    def busy(self) -> bool:
        """Whether work of a run that is gone is under way, or ended in its middle."""
        return self.actual is not None and self.actual.lock in PASSING

    @property
    def comes_with_a_start(self) -> bool:
        """Whether some of what is wanted does."""
        return bool(self.later) or self.raw is not None

    @property
    def restarts(self) -> bool:
        """Whether it runs without some of what is wanted."""
        return self.running and self.comes_with_a_start

    @property
    def _unmade(self) -> bool:
        return self.actual is not None and self.actual.lock == CREATING

    def acts(self, allow_restart: bool) -> bool:
        """Whether there is anything to do now."""
        return bool(
            self.creates
            or self._unmade
            or not self.difference.is_empty
            or self.starts
            or self.noted
            or (self.comes_with_a_start and (allow_restart or not self.running))
        )


def plan(vmid: int, wanted: Wanted, look: NodeLook) -> Plan:
    """Raises Refused where nothing may be done at all."""
    made = _plan(vmid, wanted, look)
    if not look.quorate and made.acts(wanted.allow_restart):
        raise Refused(
            f"cannot change CT {vmid} of {look.name}: its cluster has no quorum, so nothing can be "
            "written; see pvecm status there"
        )
    if look.missing and made.acts(wanted.allow_restart):
        raise Refused(
            f"cannot mount {', '.join(look.missing)} into CT {vmid}: {look.name} has no such "
            "directory, without which the container does not start; make it there, or correct "
            "`mounts`"
        )
    return made


def _plan(vmid: int, wanted: Wanted, look: NodeLook) -> Plan:
    _refuse_others(vmid, look)
    text = look.texts.get(vmid)
    actual = None if text is None else configuration.parse(text)
    if actual is None:
        nodes = _devices(vmid, wanted, look)
        passing.require_devices(vmid, nodes, look.version)
        return Plan(vmid, None, creation=creation.options(wanted, vmid, nodes))
    if actual.keys.get("template") == "1":
        raise Refused(
            f"cannot use CT {vmid} of {look.name}: it is a template, which never runs; "
            f"give another pct_vmid, or make a container of it: pct clone {vmid} NEW --full"
        )
    if actual.lock == CREATING:
        return Plan(vmid, actual)
    return _mended(vmid, wanted, look, actual)


def _refuse_others(vmid: int, look: NodeLook) -> None:
    """What has this VMID on another node, or is no container."""
    if vmid in look.elsewhere:
        raise Refused(
            f"cannot use CT {vmid} of {look.name}: it is on node {look.elsewhere[vmid]}; "
            "set pct_host to that node"
        )
    if vmid in look.machines:
        raise Refused(
            f"cannot make CT {vmid} of {look.name}: that VMID is a virtual machine's, on node "
            f"{look.machines[vmid]}; give another pct_vmid"
        )


def _devices(vmid: int, wanted: Wanted, look: NodeLook) -> tuple[Device, ...]:
    """The nodes of the GPUs that it is to have, which nobody else may have."""
    if not wanted.gpus:
        return ()
    cards = devices.chosen(wanted.gpus, look.cards)
    shared = wanted.gpus_shared
    claims.check(vmid, cards, look.texts, look.numbers, look.running, shared, look.pci)
    gid, caps = wanted.device_gid, wanted.capabilities
    return devices.wanted(cards, look.numbers, wanted.mode, gid, caps)


def _mended(vmid: int, wanted: Wanted, look: NodeLook, actual: Configuration) -> Plan:
    running = vmid in look.running
    nodes = _devices(vmid, wanted, look)
    text = look.texts[vmid]
    way = _passing(vmid, wanted, nodes, look, text)
    numbering = Numbering(look.numbers, look.majors)
    raw = raw_lines.migrated(text, nodes, numbering) if way.migrate else None
    left = () if raw is not None else way.devices
    found = _between(wanted, left, actual, look, running)
    as_running = found if running else _between(wanted, left, actual, look, True)
    every = (*as_running.changes, *as_running.waiting)
    later = tuple(change for change in every if change.effect is Effect.RESTART)
    made = Plan(
        vmid,
        actual,
        running=running,
        difference=found,
        later=later,
        text=text,
        raw=raw,
        noted=vmid in look.restarting,
        starts=(wanted.started or vmid in look.restarting) and not running,
        blind=(*_new_nodes(later), *way.unusable) if running else (),
        notes=(*found.told, *way.told),
    )
    if actual.lock and not made.busy and made.acts(wanted.allow_restart):
        raise Refused(
            f"cannot change CT {vmid} of {look.name}: Proxmox has locked it ({actual.lock}); wait "
            f"for that to end, or if nothing is at work on it any more: pct unlock {vmid}"
        )
    return made


def _passing(
    vmid: int, wanted: Wanted, nodes: Sequence[Device], look: NodeLook, text: str
) -> Passing:
    """How it gets these nodes. Nothing is looked at where no GPUs are declared."""
    if wanted.gpus is None:
        return Passing(())
    numbering = Numbering(look.numbers, look.majors)
    return passing.decided(vmid, nodes, text, look.version, numbering, wanted.migrate_raw)


def _new_nodes(later: Sequence[Change]) -> tuple[str, ...]:
    values = [c.after for c in later if c.key.startswith("dev") and c.before is None]
    return tuple(value.partition(",")[0] for value in values if value)


def _between(
    wanted: Wanted,
    nodes: Sequence[Device],
    actual: Configuration,
    look: NodeLook,
    running: bool,
) -> Difference:
    return difference.between(wanted, nodes, actual, look.version, running)
