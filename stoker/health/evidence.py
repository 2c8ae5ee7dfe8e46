"""What has to be seen for a row of the ladder to apply. A function's docstring is its words in
the drawing."""

from __future__ import annotations

from stoker.health.situation import Situation
from stoker.health.units import UnitState

UNUSABLE = frozenset({"not-loaded", "mismatch", "no-library", "no-devices", "denied", "missing"})
FREEING = frozenset({"R1", "R2", "R3", "R4"})


def absent(s: Situation) -> bool:
    """the node has no such container, it is a template, or it has no such unit or GPU"""
    ct = s.container
    return (
        ct is None
        or ct.template
        or any(unit.standing == "missing" for unit in s.targets)
        or bool(s.not_passed)
    )


def driver_unusable(s: Situation) -> bool:
    """the container is passed GPUs, and the driver is not loaded, mismatched or sees none"""
    ct, driver = s.container, s.seen.driver
    if ct is None or not (ct.gpus or ct.nodes):
        return False
    return not driver.version or driver.smi.state in UNUSABLE


def clean(s: Situation) -> bool:
    """no stuck holder, memory at its baseline or a running unit's, every wanted unit serves"""
    troubles = (s.stuck, s.dirty, s.unknown, s.lost, s.to_reset, s.to_start)
    return not any(troubles) and not unanswering(s) and not s.smi_hangs


def not_ready(s: Situation) -> bool:
    """the container is locked, frozen or managed by HA, or a GPU of it belongs to a VM"""
    ct = s.container
    if ct is None:
        return False
    to_a_vm = any(gpu.binding == "vfio-pci" for gpu in s.gpus)
    return bool(ct.lock or ct.state == "frozen" or (ct.ha and not s.permitted.ha) or to_a_vm)


def held_by_others(s: Situation) -> bool:
    """no holder of ours is left, memory is in use, and somebody else holds that GPU"""
    return not s.stuck and bool(s.occupiers) and not _just_freed(s)


def unit_in_the_way(s: Situation) -> bool:
    """something is stuck, and a unit of ours runs, fails, or could start into it"""
    return s.runs and bool(s.stuck or s.dirty or s.to_reset) and bool(stoppable(s))


def stoppable(s: Situation) -> tuple[UnitState, ...]:
    """Units of this run that are not left alone."""
    return tuple(u for u in s.targets if u not in s.left_alone and u.standing != "missing")


def held(s: Situation) -> bool:
    """processes of the container that no running unit accounts for hold its GPUs"""
    return bool(s.stuck)


def held_still(s: Situation) -> bool:
    """holders are left, or new ones came after the last KILL"""
    return bool(s.stuck) and (not s.done.times("R3") or bool(s.respawned))


def gone_for_good(s: Situation) -> bool:
    """a GPU is lost: off the bus, Xid 79, or the driver asks for a reboot"""
    return bool(s.lost)


def others_now(s: Situation) -> bool:
    """after a reset or reload a GPU is missing, or its node has another number"""
    return bool(s.missing or s.renumbered)


def driver_hangs(s: Situation) -> bool:
    """nvidia-smi does not come back from the driver, so that memory cannot be read"""
    return s.smi_hangs and not s.stuck


def release_is_due(s: Situation) -> bool:
    """no holder of ours is left, and its memory may still be on its way back"""
    return not s.stuck and (_just_freed(s) or (bool(s.dirty) and not s.done.times("W")))


def _just_freed(s: Situation) -> bool:
    return any(rung in FREEING for rung in s.done.since("W"))


def memory_unknown(s: Situation) -> bool:
    """no holder is left, and nobody can tell how much memory is in use"""
    asks = frozenset(gpu.uuid for gpu in s.to_reset)
    return not s.stuck and any(gpu.uuid not in asks for gpu in s.unknown)


def container_wedged(s: Situation) -> bool:
    """holders survive or return, memory stays in use, or a reset needs the container stopped"""
    return s.runs and bool(s.stuck or s.dirty or s.to_reset)


def memory_without_holder(s: Situation) -> bool:
    """memory stays in use, and no process of the container holds the GPU"""
    return bool(s.dirty) and not s.stuck


def reset_needed(s: Situation) -> bool:
    """memory stays in use, or the driver asks for a reset"""
    return bool(s.dirty or s.to_reset)


def reload_may_help(s: Situation) -> bool:
    """a reset was tried in this boot and did not help, or UVM alone still has the GPU"""
    trouble = frozenset(gpu.uuid for gpu in (*s.dirty, *s.to_reset))
    tried = bool(s.done.times("R5")) or trouble <= s.done.reset_this_boot
    return bool(s.uvm_pins) or (bool(trouble) and tried)


def to_be_started(s: Situation) -> bool:
    """memory is at its baseline, and a unit that has to serve does not"""
    return bool(s.to_start) and not any((s.stuck, s.dirty, s.unknown, s.lost, s.to_reset))


def unanswering(s: Situation) -> bool:
    """a unit is active, was asked, and does not answer"""
    return any(u in s.targets and u.standing in ("silent", "unknown") for u in s.left_alone)


def anything_else(s: Situation) -> bool:
    """nothing above applies, or it did not help"""
    return True


def units_down(s: Situation) -> bool:
    """the units are inactive"""
    return all(u.standing in ("inactive", "failed", "missing", "unknown") for u in stoppable(s))


def no_holders(s: Situation) -> bool:
    """no stuck holder is left"""
    return not s.stuck


def memory_back(s: Situation) -> bool:
    """no stuck holder, and memory at its baseline"""
    return not any((s.stuck, s.dirty, s.unknown))


def container_down(s: Situation) -> bool:
    """the container is stopped and its cgroup gone"""
    return s.container is not None and s.container.state == "stopped"


def reset_done(s: Situation) -> bool:
    """the driver asks for nothing more, and memory is at its baseline"""
    return memory_back(s) and not any((s.to_reset, s.lost, s.missing))


def serving(s: Situation) -> bool:
    """every wanted unit gave a generated token"""
    return not s.to_start


def replaced(s: Situation) -> bool:
    """every holder that was sent TERM is gone, and others have come"""
    return bool(s.stuck) and not any((h.pid, h.start_ticks) in s.done.asked for h in s.stuck)


def respawned(s: Situation) -> bool:
    """a new holder came after the KILL"""
    return bool(s.respawned)


def never(s: Situation) -> bool:
    """nothing"""
    return False
