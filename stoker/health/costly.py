"""Why the costly rungs are refused: a restart, the driver's switches, a reset, a reload. A
function's docstring is its words in the drawing; None means that it does not refuse."""

from __future__ import annotations

from stoker.health.refusal import (
    FOREIGN,
    INCOMPLETE,
    POLICY,
    PROGRAM,
    REBOOT,
    Refusal,
    again,
    labels,
    named,
    reboot,
)
from stoker.health.refusals import cannot_verify
from stoker.health.situation import KNOWN_ACTIONS, Situation, label, tolerated

MOUNTS = {
    "fuse": "echo 1 > /sys/fs/fuse/connections/N/abort (N: the hung mount's device minor)",
    "nfs": "bring the NFS server back, or umount -f its mount",
    "frozen-fs": "fsfreeze --unfreeze the file system that is frozen",
}


def cannot_die(s: Situation) -> Refusal | None:
    """a task that cannot die would hang pct stop for ever, with the container's lock held"""
    stuck = [
        (h.pid, h.name, h.stuck.where, h.stuck.frame)
        for h in s.stuck
        if h.stuck.kind in ("unkillable", "exiting")
        or (h.stuck.kind and (h.pid, h.start_ticks) in s.done.ended)
    ]
    told = {pid for pid, *_ in stuck}
    tasks = stuck + [(t.pid, t.name, t.where, t.frame) for t in s.undying if t.pid not in told]
    if not tasks:
        return None
    said = ", ".join(f"process {p} ({n}) waits in {f or w or 'the kernel'}" for p, n, w, f in tasks)
    hint = next((MOUNTS[where] for _, _, where, _ in tasks if where in MOUNTS), "")
    if hint:
        return Refusal(f"{said}, a mount's fault that no GPU rung cures", hint, POLICY)
    return Refusal(f"{said} and cannot die", reboot(s), REBOOT)


def ha_restarts(s: Situation) -> Refusal | None:
    """HA, or nobody knows whether HA, decides when the container stops"""
    if s.container is None or s.container.ha is False:
        return None
    what = f"HA manages CT {s.vmid}" if s.container.ha else "HA's state cannot be read"
    return Refusal(what, f"ha-manager crm-command stop ct:{s.vmid} 60", POLICY)


def server_answers(s: Situation) -> Refusal | None:
    """a server of the container answers, on whichever GPU: it is nobody's leftover"""
    healthy = [unit.name for unit in s.units if unit.standing == "healthy"]
    if not healthy:
        return None
    stop = f"pct exec {s.vmid} -- systemctl stop {' '.join(healthy)}"
    what = f"a restart of CT {s.vmid} would end {', '.join(healthy)}, which answers"
    return Refusal(what, f"when it can be spared: {stop}, then run again with --serve", POLICY)


def restart_not_allowed(s: Situation) -> Refusal | None:
    """everything else in the container would restart too; needs --allow-restart"""
    if s.permitted.restart:
        return None
    others = [unit.name for unit in s.left_alone]
    what = f"a restart of CT {s.vmid} needs --allow-restart"
    if s.respawned:
        what = f"after each KILL something starts {named(s.respawned)} again; {what}"
    ends = f" and would end {', '.join(others)}" if others else ""
    return Refusal(what + ends, again(s, "--allow-restart"), POLICY)


def scan_incomplete(s: Situation) -> Refusal | None:
    """not every process could be read, so a holder may be hidden"""
    if s.seen.completeness.complete:
        return None
    why = "; ".join(s.seen.completeness.unreadable[:3]) or "some mappings were not read in time"
    return Refusal(f"the scan is incomplete: {why}", f"{PROGRAM} {s.vmid} --dry-run", INCOMPLETE)


def anybody_holds(s: Situation) -> Refusal | None:
    """anybody but nvidia-persistenced holds or may hold the GPU"""
    dirty = frozenset(gpu.uuid for gpu in s.dirty)
    holders = tuple(holder for holder in (*s.ours, *s.strangers) if s.on(holder) & dirty)
    if not holders:
        return None
    return Refusal(f"the GPU is held by {named(holders)}", "stop it, then run again", FOREIGN)


def persistence_is_off(s: Situation) -> Refusal | None:
    """persistence mode is off already, or nobody can tell"""
    if any(gpu.persistence is None for gpu in s.dirty):
        return Refusal("persistence mode cannot be read", "nvidia-smi -q -x", INCOMPLETE)
    if any(gpu.persistence for gpu in s.dirty):
        return None
    return Refusal("persistence mode is off already: there is nothing to switch", "", REBOOT)


def holder_left(s: Situation) -> Refusal | None:
    """a holder of ours is left"""
    if not s.stuck:
        return None
    return Refusal(f"the GPU is held by {named(s.stuck)}", reboot(s), REBOOT)


def unit_runs(s: Situation) -> Refusal | None:
    """a unit of the container still runs on the GPU"""
    asked = frozenset(gpu.uuid for gpu in s.to_reset)
    users = tuple(h for h in s.ours if s.is_left_alone(h) and asked & s.on(h))
    if not users:
        return None
    what = f"the driver asks for a reset of a GPU in use by {named(users)}"
    human = f"pct exec {s.vmid} -- systemctl stop {users[0].owner.unit}, then run again"
    return Refusal(what, human, POLICY)


def stranger_holds(s: Situation) -> Refusal | None:
    """somebody else holds or may hold the GPU; services that we may stop left out"""
    others = tuple(h for h in s.strangers if not s.may_stop(h))
    if not others:
        return None
    services = [h.owner.unit for h in others if h.owner.kind == "host" and h.owner.unit]
    human = again(s, f"--allow-stop-service {services[0]}") if services else "ask its owner"
    return Refusal(f"the GPU is held by {named(others)}", human, FOREIGN)


def figures_missing(s: Situation) -> Refusal | None:
    """a GPU's memory is unknown, unless it is the driver that asks for the reset"""
    asks = frozenset(gpu.uuid for gpu in s.to_reset)
    if all(gpu.uuid in asks for gpu in s.unknown):
        return None
    return cannot_verify(s)


def action_unknown(s: Situation) -> Refusal | None:
    """the driver asks for something that this table does not know"""
    odd = [g for g in s.gpus if (g.recovery_action or "").lower() not in KNOWN_ACTIONS]
    if not odd:
        return None
    said = ", ".join(f"{label(gpu)}: {gpu.recovery_action!r}" for gpu in odd)
    return Refusal(f"unknown recovery action ({said})", "read it up at NVIDIA, or reboot", REBOOT)


def shared(s: Situation) -> Refusal | None:
    """another running container is passed the same GPU"""
    wanted = frozenset(gpu.uuid for gpu in (*s.dirty, *s.to_reset))
    others = [
        ct
        for ct in s.seen.containers
        if ct.vmid != s.vmid and ct.state != "stopped" and wanted & frozenset(ct.gpus)
    ]
    if not others:
        return None
    names = ", ".join(f"CT {ct.vmid} {ct.name}" for ct in others)
    human = " && ".join(f"pct shutdown {ct.vmid}" for ct in others)
    return Refusal(f"the GPU is passed to {names} too", human, FOREIGN)


def already_reset(s: Situation) -> Refusal | None:
    """it was reset in this boot of the node, and one time is all"""
    again_ = tuple(g for g in (*s.dirty, *s.to_reset) if g.uuid in s.done.reset_this_boot)
    if not again_:
        return None
    return Refusal(f"{labels(again_)} was reset in this boot already", reboot(s), REBOOT)


def reset_not_allowed(s: Situation) -> Refusal | None:
    """a reset is not dependable on these cards; needs --allow-gpu-reset"""
    if s.permitted.reset:
        return None
    return Refusal("a reset needs --allow-gpu-reset", again(s, "--allow-gpu-reset"), POLICY)


def others_compute(s: Situation) -> Refusal | None:
    """other GPUs of the node are in use; needs --reset-scope isolated"""
    if s.permitted.reset_beside:
        return None
    others = tuple(
        h
        for h in s.seen.holders
        if h.gpus and not tolerated(h) and not s.may_stop(h) and not s.on(h)
    )
    if not others:
        return None
    what = f"other GPUs are in use by {named(others)}"
    return Refusal(what, again(s, "--allow-gpu-reset --reset-scope isolated"), POLICY)


def container_runs(s: Situation) -> Refusal | None:
    """the container has to be stopped meanwhile"""
    if not s.runs:
        return None
    if s.done.times("R4"):
        return Refusal(f"CT {s.vmid} did not stop", reboot(s), REBOOT)
    return Refusal(f"CT {s.vmid} runs", again(s, "--allow-restart"), POLICY)


def reload_not_allowed(s: Situation) -> Refusal | None:
    """a reload concerns every GPU of the node; needs --allow-driver-reload"""
    if s.permitted.reload:
        return None
    human = again(s, "--allow-driver-reload")
    return Refusal("a reload of nvidia_uvm needs --allow-driver-reload", human, POLICY)


def anyone_on_the_node(s: Situation) -> Refusal | None:
    """a process of the node or of any container has an nvidia node open"""
    holders = tuple(
        h
        for h in s.seen.holders
        if not s.may_stop(h) and not (tolerated(h) and not s.permitted.full)
    )
    if not holders:
        return None
    return Refusal(f"the driver is in use by {named(holders)}", "stop them first", FOREIGN)


def gpu_containers_run(s: Situation) -> Refusal | None:
    """another container with a GPU runs"""
    others = [
        ct
        for ct in s.seen.containers
        if ct.vmid != s.vmid and ct.state != "stopped" and (ct.gpus or ct.raw)
    ]
    if not others:
        return None
    human = " && ".join(f"pct shutdown {ct.vmid}" for ct in others)
    names = ", ".join(f"CT {ct.vmid} {ct.name}" for ct in others)
    return Refusal(f"{names} with a GPU runs", human, FOREIGN)


def module_in_use(s: Situation) -> Refusal | None:
    """the kernel still counts a user of the module"""
    count = s.seen.driver.modules.get("nvidia_uvm")
    if not count:
        return None
    what = f"nvidia_uvm has {count} users and no process holds it: the kernel itself does"
    return Refusal(what, reboot(s), REBOOT)


def already_reloaded(s: Situation) -> Refusal | None:
    """it was reloaded in this boot, and one time is all"""
    if not s.done.reloaded_this_boot:
        return None
    return Refusal("the driver was reloaded in this boot already", reboot(s), REBOOT)
