"""CT 200 of a lab, made by hand before anybody declared it."""

from typing import Any

from stoker.container.devices import Device
from stoker.container.difference import Difference, Effect
from stoker.container.version import Version

PVE8, PVE9 = Version((5, 2, 4)), Version((6, 1, 10))
CARDS = tuple(f"/dev/nvidia{n}" for n in range(8))
PATHS = (*CARDS, "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
DEVICES = tuple(Device(path) for path in PATHS)

NET0 = (
    "name=eth0,bridge=vmbr0,firewall=1,gw=192.0.2.1,hwaddr=BC:24:11:00:00:01,"
    "ip=192.0.2.20/24,type=veth"
)
_TEXT = """#inference, ask%3A the lab
#second line
arch: amd64
cores: 64
{devices}
features: nesting=1
future-key: 7
hostname: gpu-a
memory: 524288
mp0: /tank/models,mp=/models,ro=1
mp4: /var/lib/stoker/wheels,mp=/var/lib/stoker/wheels,ro=1
net0: {net0}
onboot: 1
ostype: debian
rootfs: local-zfs:subvol-200-disk-0,size=256G
startup: order=2,up=30
swap: 0
tags: gpu;lab
{unprivileged}lxc.prlimit.memlock: unlimited
lxc.cgroup2.devices.allow: c 10:200 rwm

[before-update]
#as it was
dev0: /dev/nvidia7,mode=0666
mp0: /old,mp=/models
rootfs: local-zfs:subvol-200-disk-0,size=64G
snaptime: 1790000000
"""


def text(unprivileged: bool = True, more: str = "") -> str:
    """Its file; `more`: lines that stand before the sections."""
    devices = "\n".join(f"dev{n}: {path},mode=0666" for n, path in enumerate(PATHS))
    said = "unprivileged: 1\n" if unprivileged else ""
    return _TEXT.format(devices=devices, net0=NET0, unprivileged=said + more)


SAID: dict[str, Any] = {
    "storage": "local-zfs",
    "rootfs_gib": 256,
    "hostname": "gpu-a",
    "cores": 64,
    "memory_mib": 524288,
    "swap_mib": 0,
    "onboot": True,
    "description": "inference, ask: the lab\nsecond line",
    "startup": {"order": 2, "up_s": 30},
    "features": {"nesting": True},
    "tags": ["lab"],
    "networks": [{"name": "eth0", "bridge": "vmbr0", "ip": "192.0.2.20/24"}],
    "mounts": [{"source": "/tank/models", "target": "/models/", "read_only": True}],
    "gpus": "all",
}
"""What an operator says of it who changes nothing."""
NEEDED = {"template": "local:vztmpl/d.tar.zst", "storage": "local-zfs", "rootfs_gib": 8}
"""The least that a new one is made with."""


def needs_restart(found: Difference) -> bool:
    """Whether some of it, set now or before, comes only with a restart."""
    return any(c.effect is Effect.RESTART for c in (*found.changes, *found.waiting))
