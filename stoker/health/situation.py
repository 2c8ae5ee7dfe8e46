"""Where a run stands: what was seen, of which container, what was done, what is permitted.

Everything is derived from those; the rows of the ladder read nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from stoker.health.done import Done, Permitted, Task
from stoker.health.retained import watches_only
from stoker.health.seen import Container, Gpu, Holder, Seen
from stoker.health.units import RUNS, UnitState

TOLERATED = "nvidia-persistenced.service"
RESETS = frozenset({"reset", "drain and reset", "gpu reset required"})
NOTHING = frozenset({"none", "n/a", ""})
KNOWN_ACTIONS = RESETS | NOTHING | {"reboot", "node reboot required", "drain p2p"}


@dataclass(frozen=True)
class Situation:
    """One moment of a run."""

    seen: Seen
    vmid: int
    units: tuple[UnitState, ...] = ()
    chosen: tuple[str, ...] | None = None
    """UUIDs that the human named; None: every GPU of the container."""
    undying: tuple[Task, ...] = ()
    """Tasks of the container that stay in state D."""
    done: Done = field(default_factory=Done)
    permitted: Permitted = field(default_factory=Permitted)

    @cached_property
    def container(self) -> Container | None:
        """The target; None if the node has none of that number."""
        return self.seen.container(self.vmid)

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        """The target's GPUs."""
        passed = self.container.gpus if self.container else ()
        return tuple(
            gpu
            for gpu in self.seen.gpus
            if gpu.uuid in passed and (self.chosen is None or gpu.uuid in self.chosen)
        )

    @cached_property
    def uuids(self) -> frozenset[str]:
        """Their UUIDs."""
        return frozenset(gpu.uuid for gpu in self.gpus)

    @cached_property
    def not_passed(self) -> tuple[str, ...]:
        """GPUs that the human named and the container does not have."""
        passed = self.container.gpus if self.container else ()
        if self.chosen is None or not self.seen.driver.version:
            return ()
        return tuple(uuid for uuid in self.chosen if uuid not in passed)

    @cached_property
    def targets(self) -> tuple[UnitState, ...]:
        """The units that this run is about; with `chosen`, those that use one of these GPUs."""
        chosen = frozenset(self.chosen or ())
        return tuple(
            unit
            for unit in self.units
            if unit.target
            and (self.chosen is None or unit.gpus is None or chosen & frozenset(unit.gpus))
        )

    @cached_property
    def left_alone(self) -> tuple[UnitState, ...]:
        """Units that run and are not to be stopped."""
        return tuple(
            unit
            for unit in self.units
            if unit.standing in RUNS
            and not (
                unit in self.targets and self.permitted.stop_running and unit.standing != "healthy"
            )
        )

    @cached_property
    def ours(self) -> tuple[Holder, ...]:
        """Processes of the target container that hold or may hold its GPUs."""
        return tuple(h for h in self.seen.holders if self.is_ours(h) and self.on(h))

    def is_ours(self, holder: Holder) -> bool:
        """Whether it lives in the target container."""
        return holder.owner.kind == "ct" and holder.owner.vmid == self.vmid

    def on(self, holder: Holder) -> frozenset[str]:
        """UUIDs of the target's GPUs that it holds or may hold."""
        return self.uuids & frozenset(self.seen.may_hold(holder))

    def unit_of(self, holder: Holder) -> UnitState | None:
        """The unit of the container in whose cgroup it is; a user's own units do not count."""
        parts = holder.owner.cgroup.split("/")
        if "user.slice" in parts:
            return None
        return next((unit for unit in self.units if unit.name in parts), None)

    def is_left_alone(self, holder: Holder) -> bool:
        """Whether it belongs to a unit of the container that runs and stays."""
        return self.is_ours(holder) and self.unit_of(holder) in self.left_alone

    @cached_property
    def explained(self) -> frozenset[str]:
        """GPUs whose memory a unit that runs and stays may be using.

        A process of it with only a control node open speaks for the unit's own GPUs alone: beside
        it an orphan may have another one.
        """
        kept = [self._used_by(holder) for holder in self.ours if self.is_left_alone(holder)]
        return frozenset().union(*kept)

    def _used_by(self, holder: Holder) -> frozenset[str]:
        unit = self.unit_of(holder)
        if holder.gpus or unit is None:
            return self.on(holder)
        return self.on(holder) & self.gpus_of(unit) or self.on(holder)

    @cached_property
    def dirty(self) -> tuple[Gpu, ...]:
        """GPUs with more memory in use than without a holder, and no running unit to explain it."""
        return tuple(g for g in self.gpus if g.over_baseline and g.uuid not in self.explained)

    @cached_property
    def unknown(self) -> tuple[Gpu, ...]:
        """GPUs of which nobody can tell whether their memory is back."""
        return tuple(
            g for g in self.gpus if g.over_baseline is None and g.uuid not in self.explained
        )

    @cached_property
    def stuck(self) -> tuple[Holder, ...]:
        """Our holders that no running unit accounts for.

        A monitor in the container, which has no memory of its own, counts only where memory is
        unaccounted for.
        """
        doubtful = frozenset(gpu.uuid for gpu in (*self.dirty, *self.unknown))
        return tuple(
            holder
            for holder in self.ours
            if not self.is_left_alone(holder) and (computes(holder) or self.on(holder) & doubtful)
        )

    @cached_property
    def respawned(self) -> tuple[Holder, ...]:
        """Stuck holders that came after the last kill."""
        if not self.done.times("R3"):
            return ()
        return tuple(h for h in self.stuck if (h.pid, h.start_ticks) not in self.done.ended)

    @cached_property
    def strangers(self) -> tuple[Holder, ...]:
        """Holders of others that have, or may have, a GPU of the target; persistenced left out."""
        return tuple(
            h for h in self.seen.holders if not self.is_ours(h) and self.on(h) and not tolerated(h)
        )

    @cached_property
    def occupiers(self) -> tuple[Holder, ...]:
        """Strangers that may have a dirty GPU's memory: they have its node open and compute.

        Services that we may stop are left out.
        """
        dirty = frozenset(gpu.uuid for gpu in self.dirty)
        return tuple(
            h
            for h in self.strangers
            if dirty & frozenset(h.gpus) and not watches_only(h) and not self.may_stop(h)
        )

    def may_stop(self, holder: Holder) -> bool:
        """Whether it is a service of the node that the human lets us stop."""
        return holder.owner.kind == "host" and holder.owner.unit in self.permitted.stop_services

    @cached_property
    def lost(self) -> tuple[Gpu, ...]:
        """GPUs that only a reboot can bring back."""
        return tuple(gpu for gpu in self.gpus if self._why_lost(gpu))

    def _why_lost(self, gpu: Gpu) -> str:
        if gpu.off_bus:
            return "its configuration space reads all ones"
        if "lost" in gpu.error.lower():
            return f"nvidia-smi says {gpu.error!r}"
        said = self.seen.driver.smi.text.lower()
        if self.seen.driver.smi.state == "lost" and gpu.bdf in said and "is lost" in said:
            return f"nvidia-smi says {self.seen.driver.smi.text!r}"
        if "reboot" in (gpu.recovery_action or "").lower():
            return f"the driver asks for {gpu.recovery_action!r}"
        fell = any(xid.number == 79 and xid.bdf == gpu.bdf for xid in self.seen.xids)
        if fell and gpu.uuid not in self.explained:
            return "Xid 79, it has fallen off the bus"
        return ""

    def why_lost(self) -> str:
        """Which GPUs are lost and by what it shows."""
        return "; ".join(f"{label(gpu)}: {self._why_lost(gpu)}" for gpu in self.lost)

    @cached_property
    def to_reset(self) -> tuple[Gpu, ...]:
        """GPUs of which the driver says that they need a reset; while a server still runs on one,
        only if it says nothing else of it any more."""
        return tuple(
            gpu
            for gpu in self.gpus
            if "requires reset" in gpu.error
            or ((gpu.recovery_action or "").lower() in RESETS and gpu.uuid not in self.explained)
        )

    @cached_property
    def smi_hangs(self) -> bool:
        """Whether nvidia-smi, or an earlier one of ours, does not come back from the driver."""
        smi = self.seen.driver.smi
        return bool(self.gpus) and (
            smi.state == "hung" or (smi.state == "skipped" and bool(self.seen.driver.version))
        )

    @cached_property
    def to_start(self) -> tuple[UnitState, ...]:
        """Units that have to serve and do not."""
        if not self.done.ran:
            return ()
        return tuple(u for u in self.targets if u.name in self.done.wanted and self._is_due(u))

    def _is_due(self, unit: UnitState) -> bool:
        if unit.standing == "loading":
            return self.permitted.serve or bool(self.done.times("Z"))
        return unit not in self.left_alone

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """UUIDs of target GPUs that were there when the run began and are not any more."""
        there = frozenset(gpu.uuid for gpu in self.seen.gpus)
        return tuple(uuid for uuid, _ in self.done.gpus if uuid not in there)

    @cached_property
    def renumbered(self) -> tuple[Gpu, ...]:
        """GPUs whose node has another number than when the run began."""
        before = dict(self.done.gpus)
        return tuple(g for g in self.seen.gpus if before.get(g.uuid, g.minor) != g.minor)

    @cached_property
    def uvm_pins(self) -> tuple[Gpu, ...]:
        """Dirty GPUs that UVM still has in its books although nobody holds them."""
        held = frozenset(uuid for holder in self.seen.holders for uuid in self.on(holder))
        return tuple(g for g in self.dirty if g.uvm_retained is not None and g.uuid not in held)

    @property
    def runs(self) -> bool:
        """Whether the container runs."""
        return self.container is not None and self.container.state == "running"

    def gpus_of(self, unit: UnitState) -> frozenset[str]:
        """UUIDs that a unit uses."""
        return self.uuids if unit.gpus is None else self.uuids & frozenset(unit.gpus)


def computes(holder: Holder) -> bool:
    """Whether it may have memory on a GPU: CUDA does not start without nvidia-uvm, and who only
    watches maps nothing. What is on its way out tells no more of its files."""
    uvm = any(device.startswith("nvidia-uvm") for device in holder.devices)
    return uvm or holder.evidence != ("fd",) or bool(holder.stuck.kind)


def tolerated(holder: Holder) -> bool:
    """Whether it is the driver's own daemon, which gives a GPU up when it is told to."""
    return holder.owner.kind == "host" and holder.owner.unit == TOLERATED


def label(gpu: Gpu) -> str:
    """How a GPU is called in a sentence."""
    number = "GPU" if gpu.index is None else f"GPU {gpu.index}"
    return f"{number} ({gpu.bdf})"
