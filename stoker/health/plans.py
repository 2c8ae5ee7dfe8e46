"""Rung -> its acts. The dry run prints exactly these; the executor does exactly these."""

from __future__ import annotations

from typing import Callable

from stoker.health.acts import Act, Change, GiveBack, KillCgroup, Mark, Pause, Remember, Run, Signal
from stoker.health.evidence import stoppable
from stoker.health.seen import Gpu, Holder
from stoker.health.situation import Situation

TERM, KILL = 15, 9
STOP_S = 90.0
PERSISTENCE_S = 60.0
RESET_S = 120.0
MODULE_S = 60.0
MODULES = ("nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia")
"""In the order of their removal."""
SHM = (
    "for f in /dev/shm/sgl_shm_*_[0-9]* /dev/shm/sglang_loads_[0-9]*; do "
    'p=$(basename "$f" | sed -nE "s/^(sgl_shm_[a-z_]*_|sglang_loads_)([0-9]+)(_.*)?$/\\\\2/p"); '
    '[ -z "$p" ] || [ -e "/proc/$p" ] || rm -f "$f"; done'
)
"""What a killed SGLang leaves in shared memory, of which the next one dies by SIGBUS: only names
that carry a pid, and only of pids that are nobody's."""


def plan(step: str, s: Situation) -> tuple[Act, ...]:
    """The acts of that step in this situation; none for `wait`."""
    return tuple(PLANS[step](s))


def inside(vmid: int, *words: str) -> tuple[str, ...]:
    """A command in the container; its own environment, not the node's."""
    return ("lxc-attach", "-n", str(vmid), "--clear-env", "--", *words)


def stop(s: Situation) -> list[Act]:
    """Each unit of this run that is not left alone: down, and kept down."""
    acts: list[Act] = []
    for unit in stoppable(s):
        acts.append(Run(inside(s.vmid, "systemctl", "stop", unit.name), STOP_S))
        change = Change("mask", unit.name)
        if unit.maskable and unit.load != "masked" and change not in s.done.changes:
            words = inside(s.vmid, "systemctl", "mask", "--runtime", unit.name)
            acts += [Remember(change), Run(words, 20)]
    return acts


def terminate(s: Situation) -> list[Act]:
    """TERM to every holder that may be signalled."""
    return [Signal(TERM, holder) for holder in s.stuck if may_signal(holder)]


def kill(s: Situation) -> list[Act]:
    """Whole cgroups of units of this run, and single holders elsewhere."""
    by_cgroup: dict[str, list[Holder]] = {}
    single: list[Act] = []
    for holder in s.stuck:
        path = cgroup_of_unit(s, holder)
        if path:
            by_cgroup.setdefault(path, []).append(holder)
        elif may_signal(holder):
            single.append(Signal(KILL, holder))
    whole = [KillCgroup(path, tuple(holders)) for path, holders in sorted(by_cgroup.items())]
    return [*whole, *single]


def cgroup_of_unit(s: Situation, holder: Holder) -> str:
    """The cgroup of the target unit it is in; empty if it is in none."""
    unit = s.unit_of(holder)
    if unit is None or unit not in stoppable(s):
        return ""
    parts = holder.owner.cgroup.split("/")
    return "/".join(parts[: parts.index(unit.name) + 1])


def may_signal(holder: Holder) -> bool:
    """A container's init is ended by stopping the container."""
    return holder.pid > 1 and holder.ns_pid != 1


def stop_container(s: Situation) -> list[Act]:
    """In order first, then not. A shutdown in vain holds the container's lock for twice its time
    and 5 s; `pct stop` would wait 10 s for that lock and give up."""
    vmid = str(s.vmid)
    shutdown = ("pct", "shutdown", vmid, "--timeout", "40")
    return [
        Remember(Change("container", vmid)),
        Run(shutdown, 90, abandoned=True),
        Run(("pct", "stop", vmid), 60, abandoned=True, while_running=True),
    ]


def bounce_persistence(s: Situation) -> list[Act]:
    """Off and on again, one GPU after the other."""
    acts: list[Act] = []
    for gpu in s.dirty:
        if gpu.persistence:
            acts += [*_persistence_off(gpu), Pause(5), GiveBack(Change("persistence", gpu.uuid))]
    return acts


def _persistence_off(gpu: Gpu) -> list[Act]:
    return [
        Remember(Change("persistence", gpu.uuid)),
        Run(smi(gpu, "-pm", "0"), PERSISTENCE_S, driver=True, must=True),
    ]


def smi(gpu: Gpu, *words: str) -> tuple[str, ...]:
    """nvidia-smi for one GPU: without -i it would act on all of them."""
    if not gpu.uuid:
        raise AssertionError(f"GPU {gpu.bdf} has no UUID to name it by")
    return ("nvidia-smi", "-i", gpu.uuid, *words)


def reset(s: Situation) -> list[Act]:
    """Services that we may stop, persistence, then the reset of each GPU that needs it."""
    acts = _stop_services(s)
    needing = {gpu.uuid: gpu for gpu in (*s.dirty, *s.to_reset)}
    for gpu in needing.values():
        if gpu.persistence:
            acts += _persistence_off(gpu)
        acts.append(Mark(gpu.uuid))
        acts.append(Run(smi(gpu, "-r"), RESET_S, driver=True, must=True))
        if gpu.persistence:
            acts.append(GiveBack(Change("persistence", gpu.uuid)))
    return acts


def _stop_services(s: Situation) -> list[Act]:
    names = sorted({h.owner.unit for h in s.seen.holders if s.may_stop(h)})
    acts: list[Act] = []
    for name in names:
        acts += [Remember(Change("service", name)), Run(("systemctl", "stop", name), 60, must=True)]
    return acts


def reload(s: Situation) -> list[Act]:
    """The module that leaks, or all of them; what was unloaded is loaded again.

    `modprobe -r nvidia_uvm` takes `nvidia` along where nothing else uses it, and with it every
    GPU's persistence mode.
    """
    chosen = MODULES if s.permitted.full else ("nvidia_uvm",)
    loaded = [name for name in chosen if name in s.seen.driver.modules]
    kept = [Change("persistence", g.uuid) for g in s.seen.gpus if g.uuid and g.persistence]
    acts = [*_stop_services(s), Mark("reload"), *map(Remember, kept)]
    for name in loaded:
        acts.append(Remember(Change("module", name)))
        acts.append(Run(("modprobe", "-r", name), MODULE_S, driver=True, must=True))
    acts += [GiveBack(Change("module", name)) for name in reversed(loaded)]
    nodes = Run(("nvidia-modprobe", "-u", "-c", "0"), MODULE_S, driver=True)
    return [*acts, nodes, *map(GiveBack, kept)]


def serve(s: Situation) -> list[Act]:
    """The container if we stopped it, then each unit that has to serve and does not."""
    acts: list[Act] = [GiveBack(change) for change in s.done.changes if change.kind == "container"]
    starting = [unit for unit in s.to_start if unit.standing != "loading"]
    if starting:
        acts.append(Run(inside(s.vmid, "sh", "-c", SHM), 20))
    for unit in starting:
        if Change("mask", unit.name) in s.done.changes:
            acts.append(GiveBack(Change("mask", unit.name)))
        if unit.standing in ("failed", "restarting"):
            acts.append(Run(inside(s.vmid, "systemctl", "reset-failed", unit.name), 20))
        acts.append(
            Run(inside(s.vmid, "systemctl", "start", "--no-block", unit.name), 20, must=True)
        )
    return acts


def give_back(change: Change, vmid: int) -> tuple[Run, ...]:
    """How a change is undone. A cgroup is thawed by a write, not by a command."""
    if change.kind == "mask":
        words = inside(vmid, "systemctl", "unmask", "--runtime", change.name)
        return (Run(words, 20, while_running=True),)
    if change.kind == "container":
        up = inside(vmid, "systemctl", "list-jobs")
        start = Run(("pct", "start", change.name), 120, abandoned=True)
        return (start, Run(up, 30, repeated=True))
    if change.kind == "persistence":
        words = ("nvidia-smi", "-i", change.name, "-pm", "1")
        return (Run(words, PERSISTENCE_S, driver=True),)
    if change.kind == "service":
        return (Run(("systemctl", "start", change.name), 60),)
    if change.kind == "module":
        return (Run(("modprobe", change.name), MODULE_S, driver=True),)
    return ()


def wait(s: Situation) -> list[Act]:
    """Nothing: the looks that follow are the rung."""
    return []


PLANS: dict[str, Callable[[Situation], list[Act]]] = {
    "stop": stop,
    "terminate": terminate,
    "kill": kill,
    "wait": wait,
    "stop_container": stop_container,
    "bounce_persistence": bounce_persistence,
    "reset": reset,
    "reload": reload,
    "serve": serve,
}
