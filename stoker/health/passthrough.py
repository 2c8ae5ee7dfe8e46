"""What is wrong with a container's passthrough, each in a sentence that names the line or path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stoker.health.passed import (
    DEFAULT_MODE,
    NVIDIA_MAJOR,
    Device,
    Mount,
    Numbers,
    Passthrough,
    Rule,
    gpu_path,
    minor_of,
    parse,
)

__all__ = ["Device", "Mount", "Passthrough", "Rule", "parse", "problems"]

_NEEDED = {
    "/dev/nvidiactl": "nothing of the driver works",
    "/dev/nvidia-uvm": "CUDA does not start, though nvidia-smi works",
}
# The node whose numbers are dealt anew at every load of its module, by its name in /proc/devices.
_UVM = "/dev/nvidia-uvm"
_FOR_OTHERS = 0o006


def problems(
    passed: Passthrough,
    nodes: Numbers,
    all_minors: tuple[int, ...],
    majors: Mapping[str, int],
    others: Mapping[int, tuple[int, ...]],
) -> tuple[str, ...]:
    """Every problem, in the order of the configuration.

    `nodes`: major and minor of those of `passed.paths` that are device nodes; `all_minors`: of the
    node's GPUs; `majors`: by name, from /proc/devices; `others`: the GPU minors that each other
    container passes, by VMID.
    """
    minors = passed.gpu_minors(all_minors, nodes)
    stale = list(_stale(passed, nodes, majors))
    return (
        *_missing(passed, nodes),
        *_twice(passed),
        *_closed(passed),
        *_ignored(passed),
        *stale,
        *_not_allowed(passed, nodes, told={_UVM} if stale else set()),
        *(_needed(passed) if minors else ()),
        *_wide(passed, minors, all_minors),
        *_shared(minors, others),
    )


def _missing(passed: Passthrough, nodes: Numbers) -> Iterator[str]:
    for device in passed.devices:
        if device.path not in nodes:
            yield (
                f"{device.key}: {device.path} is no device node of the node, so the container "
                "does not start; load the driver or take the line out"
            )
    for mount in passed.raw_mounts:
        if mount.path not in nodes and mount.optional:
            yield (
                f"lxc.mount.entry: {mount.path} is no device node of the node and optional, so "
                "the container starts without it; load the driver before it starts"
            )
        elif mount.path not in nodes:
            yield (
                f"lxc.mount.entry: {mount.path} is no device node of the node, so the container "
                "does not start; load the driver or take the line out"
            )


def _twice(passed: Passthrough) -> Iterator[str]:
    bound = {mount.path for mount in passed.raw_mounts}
    for device in passed.devices:
        if device.path in bound:
            yield f"{device.key}: {device.path} is mounted by a raw line too; keep one of the two"


def _closed(passed: Passthrough) -> Iterator[str]:
    ours = [device for device in passed.devices if device.path.startswith("/dev/nvidia")]
    for device in ours:
        if device.deny_write:
            yield f"{device.key}: {device.path} is read-only (deny-write), so CUDA cannot use it"
    roots = [device.key for device in ours if _only_root(device)]
    if roots:
        yield (
            f"{', '.join(roots)}: only root in the container may use it; a server of another user "
            "needs mode=0666 or gid="
        )


def _only_root(device: Device) -> bool:
    mode = DEFAULT_MODE if device.mode is None else device.mode
    return mode & _FOR_OTHERS != _FOR_OTHERS and not device.gid and not device.uid


def _ignored(passed: Passthrough) -> Iterator[str]:
    for rule in passed.raw_allow:
        if not rule.unified:
            yield f"{rule.key}: is ignored on cgroup version 2; write lxc.cgroup2"


def _stale(passed: Passthrough, nodes: Numbers, majors: Mapping[str, int]) -> Iterator[str]:
    """A hard-coded major of nvidia-uvm that the driver no longer has."""
    bound = {mount.path for mount in passed.raw_mounts}
    now = nodes[_UVM][0] if _UVM in nodes else majors.get("nvidia-uvm")
    if _UVM not in bound or now is None or passed.allows(now, 0):
        return
    known = {*majors.values(), NVIDIA_MAJOR}
    told = sorted({r.major for r in passed.raw_allow if r.unified and r.major} - known)
    if told:
        numbers = ", ".join(map(str, told))
        yield (
            f"lxc.cgroup2.devices.allow: {_UVM} has major {now} now and the line says {numbers}; "
            "pass it by devN, which takes the number of the day"
        )


def _not_allowed(passed: Passthrough, nodes: Numbers, told: set[str]) -> Iterator[str]:
    by_device = {device.path for device in passed.devices}
    for mount in passed.raw_mounts:
        minor = minor_of(mount.path)
        numbers = nodes.get(mount.path, (NVIDIA_MAJOR, minor[0]) if minor else None)
        ours = mount.path.startswith("/dev/nvidia") and mount.path not in by_device
        if ours and mount.path not in told and numbers and not passed.allows(*numbers):
            yield (
                f"lxc.mount.entry: {mount.path} ({numbers[0]}:{numbers[1]}) is mounted, but no "
                "lxc.cgroup2.devices.allow lets the container use it; pass it by devN"
            )


def _needed(passed: Passthrough) -> Iterator[str]:
    for path, effect in _NEEDED.items():
        if path not in passed.paths:
            yield f"a GPU is passed without {path}: {effect}; pass it too"


def _wide(passed: Passthrough, minors: list[int], all_minors: tuple[int, ...]) -> Iterator[str]:
    """In a privileged container root can make a node for whatever the cgroup allows."""
    more = [m for m in all_minors if m not in minors and passed.allows(NVIDIA_MAJOR, m)]
    if more and not passed.unprivileged:
        wide = ", ".join(map(gpu_path, more))
        yield (
            f"lxc.cgroup2.devices.allow: allows {wide} too, whose nodes root in this privileged "
            "container can make; allow each number by itself"
        )


def _shared(minors: list[int], others: Mapping[int, tuple[int, ...]]) -> Iterator[str]:
    for vmid in sorted(others):
        common = [gpu_path(minor) for minor in minors if minor in others[vmid]]
        if common:
            yield f"{', '.join(common)}: passed to container {vmid} too; let one have it"
