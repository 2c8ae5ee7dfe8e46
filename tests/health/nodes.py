"""Nodes for tests: what a look finds, with few words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stoker.health.done import Done, Permitted, Task
from stoker.health.seen import (
    Completeness,
    Container,
    Driver,
    Gpu,
    Holder,
    Owner,
    Seen,
    Smi,
    Stuck,
)
from stoker.health.situation import Situation
from stoker.health.units import UnitState
from tests.health import looks

OK = Smi("ok", 0, "", 0.2)
WHOLE = Completeness(True, (), (), 0.1)
CALM = Stuck("", "", "")
SERVICE = "/lxc/200/ns/system.slice/sglang.service"
ATTACHED = "/lxc/200/ns/.lxc"


def gpu(n: int = 0, used: int | None = 600, **more: Any) -> Gpu:
    """GPU-n of a node, at a baseline that was not learned."""
    given: dict[str, Any] = {
        "bdf": f"0000:0{n + 1}:00.0",
        "name": "card",
        "reserved_mib": 600,
        "used_mib": used,
        "baseline_mib": 1024,
        "baseline_learned": False,
    }
    return looks.gpu(n, **{**given, **more})


def owner(cgroup: str) -> Owner:
    """By the cgroup's path."""
    parts = cgroup.strip("/").split("/")
    unit = next((p for p in reversed(parts) if p.endswith((".service", ".scope"))), "")
    if parts[0] == "lxc":
        return Owner("ct", int(parts[1]), unit, cgroup)
    if parts[0] == "lxc.monitor":
        return Owner("ct-monitor", int(parts[1]), "", cgroup)
    return Owner("host", None, unit, cgroup)


def holder(pid: int, cgroup: str = ATTACHED, *gpus: int, **more: Any) -> Holder:
    """A process that computes on these GPUs; without any it has only nvidiactl open."""
    given: dict[str, Any] = {
        "pid": pid,
        "start_ticks": pid * 10,
        "ns_pid": pid - 1000,
        "owner": owner(cgroup),
        "name": "python3",
        "command": f"python3 server-{pid}.py",
        "state": "S",
        "threads": 1,
        "since": 1.0e9,
        "evidence": ("fd",),
        "devices": (*(f"nvidia{n}" for n in gpus), "nvidiactl", *(["nvidia-uvm"] if gpus else [])),
        "gpus": tuple(f"GPU-{n}" for n in gpus),
        "stuck": CALM,
    }
    return Holder(**{**given, **more})


def undead(pid: int, where: str, *gpus: int) -> Holder:
    """A holder that SIGKILL does not end."""
    return holder(pid, ATTACHED, *gpus, state="D", stuck=Stuck("unkillable", where, "wait_on"))


def container(vmid: int = 200, *gpus: int, **more: Any) -> Container:
    """A running container with these GPUs."""
    given: dict[str, Any] = {
        "vmid": vmid,
        "name": f"ct{vmid}",
        "state": "running",
        "init_pid": vmid * 10,
        "lock": "",
        "template": False,
        "unprivileged": True,
        "ha": False,
        "gpus": tuple(f"GPU-{n}" for n in gpus),
        "raw": False,
        "problems": (),
    }
    return Container(**{**given, **more})


def unit(name: str = "sglang.service", active: str = "failed", **more: Any) -> UnitState:
    """A unit of ours; `healthy` is one that answers."""
    if active == "healthy":
        return UnitState(name, active="active", sub="running", answers=True, enabled=True, **more)
    return UnitState(name, active=active, enabled=True, **more)


def seen(
    gpus: tuple[Gpu, ...] | None = None,
    holders: tuple[Holder, ...] = (),
    containers: tuple[Container, ...] | None = None,
    smi: Smi = OK,
    **more: Any,
) -> Seen:
    """A node with two GPUs, of which CT 200 has the first and CT 201 the second."""
    driver = Driver("595.45.04", True, "595.45.04", {}, {"nvidia": 1, "nvidia_uvm": 0}, smi)
    given: dict[str, Any] = {
        "node": "pve1",
        "boot_id": "boot",
        "time": 2.0e9,
        "driver": driver,
        "gpus": gpus if gpus is not None else (gpu(0), gpu(1)),
        "holders": holders,
        "containers": containers or (container(200, 0), container(201, 1)),
        "xids": (),
        "completeness": WHOLE,
    }
    return Seen(**{**given, **more})


def situation(
    look: Seen,
    *units: UnitState,
    done: Done | None = None,
    undying: tuple[Task, ...] = (),
    chosen: tuple[str, ...] | None = None,
    **permitted: Any,
) -> Situation:
    """CT 200 of that node."""
    return Situation(look, 200, units, chosen, undying, done or Done(), Permitted(**permitted))


def after(now: Situation, *rungs: str, **more: Any) -> Situation:
    """The same once these rungs were climbed."""
    return replace(now, done=replace(now.done, rungs=(*now.done.rungs, *rungs), **more))
