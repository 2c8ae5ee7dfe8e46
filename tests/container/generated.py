"""Containers as an operator might declare them: for playing them through one Proxmox or another."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stoker.container.wanted import Wanted


@dataclass(frozen=True)
class Place:
    """What the node has that they are made on."""

    templates: Sequence[str] = ("local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst",)
    storages: Sequence[str] = ("local-zfs",)
    sources: Sequence[str] = ("/tank/models", "/tank/jit cache", "/srv")
    bridges: Sequence[str] = ("vmbr0", "vmbr1")
    pools: Sequence[str] = ("gpu",)
    vlans: Sequence[int] = (7, 4094)


Data = dict[str, Any]


def configurations(seed: int, count: int = 60, place: Place = Place()) -> list[Wanted]:
    """`count` different ones. Together they have every key of `Wanted`."""
    chance = random.Random(seed)
    found: list[Wanted] = []
    while len(found) < count:
        one = Wanted.of(_data(chance, place, len(found), everything=not found))
        if one not in found:
            found.append(one)
    return found


def _data(chance: random.Random, place: Place, number: int, everything: bool) -> Data:
    """One container's data; `everything`: with every key."""
    said: Data = {key: make() for key, make in _makers(chance, place, number).items()}
    needed = {
        "template": chance.choice(place.templates),
        "storage": chance.choice(place.storages),
        "rootfs_gib": chance.choice([1, 4, 8]),
    }
    kept = {key: value for key, value in said.items() if everything or chance.random() < 0.6}
    return {**kept, **needed}


def _makers(chance: random.Random, place: Place, number: int) -> dict[str, Callable[[], Any]]:
    def flag() -> bool:
        return chance.random() < 0.5

    return {
        "unprivileged": flag,
        "pool": lambda: chance.choice(place.pools),
        "hostname": lambda: chance.choice([f"gpu-{number}", f"Infer{number}.lab.example"]),
        "cores": lambda: chance.choice([1, 2, 64]),
        "memory_mib": lambda: chance.choice([16, 512, 2048, 524288]),
        "swap_mib": lambda: chance.choice([0, 512, 1024]),
        "nameserver": lambda: chance.choice(["192.0.2.53", "192.0.2.53 2001:db8::53"]),
        "searchdomain": lambda: chance.choice(["lab.example", "lab.example example"]),
        "onboot": flag,
        "protection": flag,
        "description": lambda: chance.choice(["one line", "a: 100 %\n\n#two, and: ü \\ 3\n", ""]),
        "startup": lambda: _some(chance, {"order": 0, "up_s": 30, "down_s": 60}),
        "features": lambda: _some(
            chance,
            {
                **{key: flag() for key in ("nesting", "keyctl", "fuse", "mknod")},
                "force_rw_sys": flag(),
                "mount": ["nfs", "cifs"],
            },
        ),
        "tags": lambda: chance.sample(["stoker", "GPU", "lab", "a.b-c+d_e"], 3),
        "networks": lambda: _networks(chance, place, number),
        "mounts": lambda: _mounts(chance, place),
        "gpus": lambda: chance.choice(["all", [], [f"0000:{number:02x}:00.0"]]),
        "gpus_shared": flag,
        "device_mode": lambda: chance.choice(["0666", "0660"]),
        "device_gid": lambda: chance.choice([0, 44, 1000]),
        "capabilities": flag,
        "migrate_raw": flag,
        "started": flag,
        "allow_restart": flag,
        "snapshot": flag,
        "snapshots_kept": lambda: chance.choice([0, 1, 5]),
        "stop_timeout_s": lambda: chance.choice([1, 180, 600]),
    }


def _some(chance: random.Random, said: Data) -> Data:
    return {key: value for key, value in said.items() if chance.random() < 0.6}


def _networks(chance: random.Random, place: Place, number: int) -> list[Data]:
    low = number % 250 + 2
    four: list[Data] = [
        {"ip": "dhcp"},
        {"ip": "manual"},
        {"ip": f"192.0.2.{low}/24", "gateway": "192.0.2.1"},
    ]
    six: list[Data] = [
        {},
        {"ip6": "auto"},
        {"ip6": f"2001:DB8:0::{low:x}/64", "gateway6": "2001:db8::1"},
    ]
    more = {
        "mtu": 9000,
        "vlan": chance.choice(place.vlans) if place.vlans else None,
        "firewall": chance.random() < 0.5,
        "rate_mbps": 100,
    }
    first = {"name": "eth0", "bridge": place.bridges[0], **chance.choice(four)}
    return [
        {**first, **chance.choice(six), **_some(chance, more)},
        {"name": "lan", "bridge": place.bridges[-1]},
    ][: chance.choice([1, 1, 2])]


def _mounts(chance: random.Random, place: Place) -> list[Data]:
    bind: Data = {"source": chance.choice(place.sources), "target": "/models/"}
    volume: Data = {
        "source": chance.choice(place.storages),
        "size_gib": chance.choice([1, 4, 1024]),
        "target": "/data",
    }
    return [
        {**bind, **_some(chance, {"read_only": chance.random() < 0.7})},
        {**volume, **_some(chance, {"read_only": False, "backup": chance.random() < 0.5})},
    ][: chance.choice([1, 2])]


def changed(wanted: Wanted, chance: random.Random) -> tuple[Wanted, str]:
    """The same with one key said otherwise, and Proxmox's key of that. `rootfs` grows; `mp0` is a
    bind mount. GPUs are another matter: they come to devices."""
    ways = {
        "hostname": ("hostname", "another-name"),
        "cores": ("cores", 3),
        "memory_mib": ("memory", 777),
        "swap_mib": ("swap", 778),
        "nameserver": ("nameserver", "198.51.100.53"),
        "searchdomain": ("searchdomain", "other.example"),
        "onboot": ("onboot", not wanted.onboot),
        "protection": ("protection", not wanted.protection),
        "description": ("description", "another text"),
        "tags": ("tags", ("another",)),
        "startup": ("startup", {"order": 9}),
        "features": ("features", {"keyctl": not (wanted.features and wanted.features.keyctl)}),
        "rootfs_gib": ("rootfs", (wanted.rootfs_gib or 0) + 1),
    }
    if wanted.networks:
        name = wanted.networks[0].name
        ways["networks"] = ("net0", ({"name": name, "mtu": 1400},))
    if wanted.mounts and not wanted.protection:
        first = wanted.mounts[0]
        flipped = {**first.model_dump(), "read_only": not first.read_only}
        ways["mounts"] = ("mp0", (flipped,))
    key = chance.choice(sorted(ways))
    said = {**wanted.model_dump(exclude_unset=True), key: ways[key][1]}
    return Wanted.of(said), ways[key][0]
