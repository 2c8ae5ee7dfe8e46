"""What one look at a node found: its driver, GPUs, their holders and the containers.

Facts only; what they mean is decided elsewhere. None always means "not known", never zero. All of
it survives `dataclasses.asdict` and JSON.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Owner:
    """Whose a process is, by its cgroup."""

    kind: str
    """`ct` (in a container), `ct-monitor` (lxc-start of one: never ended), `vm`, `host`."""
    vmid: int | None
    unit: str
    """The innermost systemd unit of its cgroup; empty: none."""
    cgroup: str
    """The whole path, as /proc/<pid>/cgroup has it for version 2 (else systemd's hierarchy)."""

    def __str__(self) -> str:
        where = {"ct": "CT", "ct-monitor": "monitor of CT", "vm": "VM", "host": "host"}[self.kind]
        number = "" if self.vmid is None else f" {self.vmid}"
        return f"{where}{number}{f' {self.unit}' if self.unit else ''}"


@dataclass(frozen=True)
class Stuck:
    """Why a process might not die of SIGKILL."""

    kind: str
    """`` (nothing), `waiting` (state D), `unkillable` (D with SIGKILL pending), `zombie-leader`
    (main thread ended, others live), `exiting` (in the driver's release, nothing left to see)."""
    where: str
    """`nvidia`, `fuse`, `nfs`, `frozen-fs`, `pidns`, `other`; empty if it is not stuck."""
    frame: str
    """The kernel function it waits in, as wchan or the stack's first line tell; may be empty."""


@dataclass(frozen=True)
class Holder:
    """A process that holds a GPU, or may hold one."""

    pid: int
    start_ticks: int
    """Start time in clock ticks since boot: with `pid` it names one process for good."""
    ns_pid: int | None
    """The pid in its innermost pid namespace."""
    owner: Owner
    name: str
    """The kernel's short name of it."""
    command: str
    """Its command line without secrets; empty if it has ended or could not be read in time."""
    state: str
    """The kernel's letter: R, S, D, Z, T ..."""
    threads: int
    since: float
    """When it started, seconds since 1970."""
    evidence: tuple[str, ...]
    """How it was seen: `fd`, `map`, `stack`."""
    devices: tuple[str, ...]
    """Names of the nodes by their numbers: `nvidia0`, `nvidiactl`, `nvidia-uvm` ..."""
    gpus: tuple[str, ...]
    """UUIDs of the GPUs whose own node it holds. Empty with `nvidiactl` or `nvidia-uvm` in
    `devices`: it may hold any GPU that it can reach."""
    stuck: Stuck


@dataclass(frozen=True)
class Smi:
    """How nvidia-smi answered."""

    state: str
    """`ok`, `not-loaded`, `mismatch`, `no-library`, `no-devices`, `denied`, `lost`, `hung`,
    `skipped` (an earlier one of ours still hangs, or no driver is loaded), `missing` (no such
    program), `garbled` (its document ends early), `unknown`."""
    code: int | None
    text: str
    """What it said, first line; the reason for `skipped`."""
    seconds: float


@dataclass(frozen=True)
class Driver:
    """The kernel's side of the driver."""

    version: str
    """Of the loaded module; empty: none is loaded."""
    open: bool | None
    installed: str
    """Version of the module on disk; another than `version` waits for a reload. Empty: unknown."""
    majors: dict[str, int]
    """Device major by name, from /proc/devices: `nvidia`, `nvidia-uvm` ..."""
    modules: dict[str, int]
    """Reference count of each loaded nvidia module."""
    smi: Smi


@dataclass(frozen=True)
class Gpu:
    """One GPU of the node. Memory in MiB as NVML's version 2 counts: `used` without `reserved`."""

    uuid: str
    """Empty if nobody could tell: the driver has not initialised it, or a VM has it."""
    bdf: str
    """PCI address as sysfs writes it, lower case: `0000:01:00.0`."""
    minor: int | None
    index: int | None
    """nvidia-smi's number; another than the minor."""
    name: str
    binding: str
    """Kernel driver: `nvidia`, `vfio-pci`, ...; empty: none."""
    total_mib: int | None
    reserved_mib: int | None
    used_mib: int | None
    baseline_mib: int
    """What it uses with no holder: learned, else a careful guess."""
    baseline_learned: bool
    utilization_pct: int | None
    persistence: bool | None
    recovery_action: str | None
    """`None`, `Reset`, `Reboot`, `Drain P2P`, `Drain and Reset`, or what else the driver says."""
    error: str
    """A GPU-level error that replaced its fields, such as `GPU is lost`; empty: none."""
    off_bus: bool
    """Its configuration space reads all ones."""
    uvm_retained: int | None
    """References UVM has on it; None: UVM does not know it."""

    @property
    def over_baseline(self) -> bool | None:
        """Whether more memory is in use than without a holder; None: cannot tell."""
        return None if self.used_mib is None else self.used_mib > self.baseline_mib


@dataclass(frozen=True)
class Xid:
    """One Xid of the kernel log."""

    time: float
    """Seconds since 1970."""
    bdf: str
    """As sysfs writes it, function 0: `0000:01:00.0`."""
    number: int
    pid: int | None
    """On the node; None if the driver did not say."""
    process: str
    text: str
    """The rest of the line."""


@dataclass(frozen=True)
class Container:
    """One container of this node."""

    vmid: int
    name: str
    state: str
    """`running`, `stopped`, `frozen`."""
    init_pid: int | None
    lock: str
    """Proxmox's `lock:` (backup, migrate, snapshot ...); empty: none."""
    template: bool
    unprivileged: bool
    ha: bool | None
    """Whether HA manages it; None: cannot tell."""
    gpus: tuple[str, ...]
    """UUIDs of the GPUs its configuration passes, in PCI order: its CUDA index 0, 1, ..."""
    raw: bool
    """Whether raw lxc.* lines pass devices, besides or instead of devN."""
    problems: tuple[str, ...]
    """Sentences on its passthrough: a missing node, a stale major, a driver library of another
    version than the kernel's ..."""
    nodes: tuple[str, ...] = ()
    """Paths of the driver's nodes that its configuration passes, whether or not they are there."""


@dataclass(frozen=True)
class Completeness:
    """Whether the scan of processes saw everything."""

    complete: bool
    unreadable: tuple[str, ...]
    """Sentences: process and why."""
    maps_unknown: tuple[int, ...]
    """Processes whose mappings could not be read in time."""
    seconds: float


@dataclass(frozen=True)
class Seen:
    """One look at a node."""

    node: str
    boot_id: str
    time: float
    """When, seconds since 1970."""
    driver: Driver
    gpus: tuple[Gpu, ...]
    """By PCI address."""
    holders: tuple[Holder, ...]
    """By pid; of every nvidia node, whoever owns them."""
    containers: tuple[Container, ...]
    """By VMID; all local ones, with or without a GPU."""
    xids: tuple[Xid, ...]
    """Since this boot, oldest first."""
    completeness: Completeness

    def gpu(self, uuid: str) -> Gpu | None:
        """The GPU of that UUID."""
        return next((gpu for gpu in self.gpus if gpu.uuid == uuid), None)

    def container(self, vmid: int) -> Container | None:
        """The container of that VMID."""
        return next((ct for ct in self.containers if ct.vmid == vmid), None)

    def may_hold(self, holder: Holder) -> tuple[str, ...]:
        """UUIDs of the GPUs that it holds or, with only a control node open, may hold.

        What it may is what its container's configuration passes, or every GPU of the node.
        """
        if holder.gpus:
            return holder.gpus
        passed = None if holder.owner.vmid is None else self.container(holder.owner.vmid)
        return passed.gpus if passed and passed.gpus else tuple(gpu.uuid for gpu in self.gpus)
