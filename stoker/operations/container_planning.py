"""What is to be done on one container, decided from one look at its node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stoker.container import claims, configuration, creation, devices, difference, raw_lines
from stoker.container.configuration import Configuration
from stoker.container.devices import Device
from stoker.container.difference import Change, Difference, Effect
from stoker.container.raw_lines import Found, Numbering
from stoker.container.wanted import Wanted
from stoker.facts.proxmox_node import NodeLook
from stoker.refused import Refused

CREATING = "create"
"""Proxmox's `lock:` while a container is being made."""


@dataclass(frozen=True)
class Plan:
    """One container as it is, and what it lacks."""

    vmid: int
    actual: Configuration | None
    """None: there is no such container."""
    running: bool = False
    creation: Mapping[str, str] = field(default_factory=dict)
    """Options to make it with."""
    difference: Difference = field(default_factory=Difference)
    later: tuple[Change, ...] = ()
    """What is wanted and comes with a start, set already or not."""
    text: str | None = None
    """Of its file."""
    raw: str | None = None
    """The same with `devN` in place of raw lines, where that is wanted."""
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
    def being_made(self) -> bool:
        """Whether its creation is under way, or ended in its middle."""
        return self.actual is not None and self.actual.lock == CREATING

    @property
    def comes_with_a_start(self) -> bool:
        """Whether some of what is wanted does."""
        return bool(self.later) or self.raw is not None

    @property
    def restarts(self) -> bool:
        """Whether it runs without some of what is wanted."""
        return self.running and self.comes_with_a_start

    def acts(self, allow_restart: bool) -> bool:
        """Whether there is anything to do now."""
        return bool(
            self.creates
            or self.being_made
            or not self.difference.is_empty
            or self.starts
            or (self.comes_with_a_start and (allow_restart or not self.running))
        )


def plan(vmid: int, wanted: Wanted, look: NodeLook) -> Plan:
    """Raises Refused where nothing may be done at all."""
    _refuse_others(vmid, look)
    text = look.texts.get(vmid)
    actual = None if text is None else configuration.parse(text)
    if actual is None:
        nodes = _devices(vmid, wanted, look)
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
    if not look.version.has_devices:
        raise Refused(
            f"cannot pass GPUs to CT {vmid}: pve-container of {look.name} is "
            f"{look.version or 'not known'}, and devN came with 5.0.7 (Proxmox VE 8.1); upgrade "
            "the node, or take `gpus` away and pass them by hand"
        )
    cards = devices.chosen("all" if wanted.gpus == ("all",) else wanted.gpus, look.cards)
    claims.check(vmid, cards, look.texts, look.numbers, look.running, shared=wanted.gpus_shared)
    mode = int(wanted.device_mode, 8)
    return devices.wanted(cards, look.numbers, mode, wanted.device_gid, wanted.capabilities)


def _mended(vmid: int, wanted: Wanted, look: NodeLook, actual: Configuration) -> Plan:
    running = vmid in look.running
    nodes = _devices(vmid, wanted, look)
    node = Numbering(look.numbers, look.majors)
    by_hand = raw_lines.found(look.texts[vmid], node) if nodes else Found()
    raw = _migrated(wanted, nodes, look.texts[vmid], node) if by_hand.lines else None
    left = () if raw is not None else _not_by_hand(vmid, nodes, by_hand)
    found = _between(wanted, left, actual, look, running)
    as_running = found if running else _between(wanted, left, actual, look, True)
    every = (*as_running.changes, *as_running.waiting)
    later = tuple(change for change in every if change.effect is Effect.RESTART)
    unusable = [path for path in by_hand.paths if path not in by_hand.effective]
    made = Plan(
        vmid,
        actual,
        running=running,
        difference=found,
        later=later,
        text=look.texts[vmid],
        raw=raw,
        starts=wanted.started and not running,
        blind=(*_new_nodes(later), *(unusable if raw is not None else ())) if running else (),
        notes=(*found.told, *_notes(by_hand, raw)),
    )
    if actual.lock and made.acts(wanted.allow_restart):
        raise Refused(
            f"cannot change CT {vmid} of {look.name}: Proxmox has locked it ({actual.lock}); wait "
            f"for that to end, or if nothing is at work on it any more: pct unlock {vmid}"
        )
    return made


def _migrated(wanted: Wanted, nodes: Sequence[Device], text: str, node: Numbering) -> str | None:
    new = raw_lines.migrated(text, nodes, node) if wanted.migrate_raw else text
    return None if new == text else new


def _not_by_hand(vmid: int, nodes: Sequence[Device], by_hand: Found) -> tuple[Device, ...]:
    """Those that `devN` has to pass. Raises Refused where both would: Proxmox mounts it twice."""
    unusable = [
        n.path for n in nodes if n.path in by_hand.paths and n.path not in by_hand.effective
    ]
    if unusable:
        raise Refused(
            f"cannot pass {', '.join(unusable)} to CT {vmid}: raw lines mount it, and its number "
            f"is another one today: {'; '.join(by_hand.stale) or 'none allows it'}; say "
            "migrate_raw: True, or take the raw lines out yourself"
        )
    return tuple(n for n in nodes if n.path not in by_hand.effective)


def _new_nodes(later: Sequence[Change]) -> tuple[str, ...]:
    values = [c.after for c in later if c.key.startswith("dev") and c.before is None]
    return tuple(value.partition(",")[0] for value in values if value)


def _notes(by_hand: Found, raw: str | None) -> tuple[str, ...]:
    if raw is not None or not by_hand.lines:
        return by_hand.doubtful
    return (
        f"raw lines pass {', '.join(by_hand.paths) or 'GPUs'}, with numbers that another kernel "
        "or driver may deal out anew; migrate_raw: True replaces them",
        *by_hand.doubtful,
    )


def _between(
    wanted: Wanted,
    nodes: Sequence[Device],
    actual: Configuration,
    look: NodeLook,
    running: bool,
) -> Difference:
    return difference.between(wanted, nodes, actual, look.version, running)
