"""Looks at nodes that never were, for tests: a sound one, and what to change in it."""

from dataclasses import replace
from typing import Any

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

NOW = 1_796_000_000.0
SERVER = Owner("ct", 200, "sglang.service", "/lxc/200/ns/system.slice/sglang.service")
HOST = Owner("host", None, "exporter.service", "/system.slice/exporter.service")


def gpu(minor: int, **changes: Any) -> Gpu:
    """GPU `minor`, used as much as with no holder."""
    plain = Gpu(
        uuid=f"GPU-{minor}",
        bdf=f"0000:{minor}1:00.0",
        minor=minor,
        index=minor,
        name="NVIDIA RTX PRO 6000 Blackwell Server Edition",
        binding="nvidia",
        total_mib=97887,
        reserved_mib=638,
        used_mib=2,
        baseline_mib=258,
        baseline_learned=True,
        utilization_pct=0,
        persistence=True,
        recovery_action="None",
        error="",
        off_bus=False,
        uvm_retained=None,
    )
    return replace(plain, **changes)


def holder(pid: int, *gpus: int, **changes: Any) -> Holder:
    """A server's process with these GPUs open."""
    plain = Holder(
        pid=pid,
        start_ticks=1000 + pid,
        ns_pid=pid - 1000,
        owner=SERVER,
        name="python3",
        command="sglang::scheduler_TP0",
        state="S",
        threads=40,
        since=NOW - 11_520,
        evidence=("fd",),
        devices=(*(f"nvidia{n}" for n in gpus), "nvidiactl", "nvidia-uvm"),
        gpus=tuple(f"GPU-{n}" for n in gpus),
        stuck=Stuck("", "", ""),
    )
    return replace(plain, **changes)


def container(vmid: int, *gpus: int, **changes: Any) -> Container:
    """A running container that is passed these GPUs."""
    plain = Container(
        vmid=vmid,
        name="infer",
        state="running",
        init_pid=900,
        lock="",
        template=False,
        unprivileged=True,
        ha=False,
        gpus=tuple(f"GPU-{n}" for n in gpus),
        raw=False,
        problems=(),
    )
    return replace(plain, **changes)


def look(**changes: Any) -> Seen:
    """A node with two GPUs, of which container 200's server holds the first."""
    plain = Seen(
        node="pve1",
        boot_id="b0071d",
        time=NOW,
        driver=Driver(
            version="580.126.09",
            open=True,
            installed="580.126.09",
            majors={"nvidia": 195, "nvidia-uvm": 511},
            modules={"nvidia": 4},
            smi=Smi("ok", 0, "", 0.42),
        ),
        gpus=(gpu(0, used_mib=91780), gpu(1)),
        holders=(holder(28001, 0),),
        containers=(container(200, 0, 1),),
        xids=(),
        completeness=Completeness(True, (), (), 0.12),
    )
    return replace(plain, **changes)
