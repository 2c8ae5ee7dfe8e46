"""What a container's configuration passes of the node's devices, by `devN` and by raw lxc lines.

`devN` allows exactly the numbers that the node has when the container starts. A raw line allows
what it says, and needs a mount beside it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stoker.health.conf import Conf, live, properties

NVIDIA_MAJOR = 195
DEFAULT_MODE = 0o660
_GPU = re.compile(r"/dev/nvidia(\d{1,3})")
_DEVICE_KEY = re.compile(r"dev\d{1,3}")
_RULE = re.compile(
    r"(?P<kind>[abc])(?: +(?P<major>\d+|\*):(?P<minor>\d+|\*))?(?: +(?P<access>\w+))?"
)
_CGROUP = re.compile(r"lxc\.cgroup(?P<two>2?)\.devices\.(?P<verb>allow|deny)")
Numbers = Mapping[str, "tuple[int, int]"]


@dataclass(frozen=True)
class Device:
    """One `devN` line."""

    path: str
    mode: int | None
    """None: not said, which is 0660."""
    uid: int | None
    """In the container; None: not said, which is root."""
    gid: int | None
    deny_write: bool
    key: str


@dataclass(frozen=True)
class Rule:
    """One raw line of the device cgroup."""

    kind: str
    """`c`, `b`, or `a`: both."""
    major: int | None
    """None: any."""
    minor: int | None
    access: str
    deny: bool
    unified: bool
    """For cgroup version 2; the other kind is ignored there."""
    key: str
    """The line itself."""

    def covers(self, major: int, minor: int) -> bool:
        """Whether it is about the character device of these numbers."""
        return self.kind in "ac" and self.major in (None, major) and self.minor in (None, minor)


@dataclass(frozen=True)
class Mount:
    """One raw line that binds a node of the host."""

    path: str
    """On the node."""
    optional: bool
    """The container starts without it if it is missing."""


@dataclass(frozen=True)
class Passthrough:
    """What the configuration passes."""

    devices: tuple[Device, ...]
    raw_allow: tuple[Rule, ...]
    """Of both versions of cgroups, allowing and denying, in order."""
    raw_mounts: tuple[Mount, ...]
    unprivileged: bool

    @property
    def raw(self) -> bool:
        """Whether raw lines pass devices, besides or instead of `devN`."""
        return bool(self.raw_allow or self.raw_mounts)

    @property
    def paths(self) -> tuple[str, ...]:
        """The node's paths that it names, each once, in order."""
        named = [device.path for device in self.devices] + [m.path for m in self.raw_mounts]
        return tuple(dict.fromkeys(named))

    def gpu_minors(self, all_minors: Iterable[int], numbers: Numbers | None = None) -> list[int]:
        """The N of each /dev/nvidiaN that processes in the container can use, ascending.

        `numbers` are those of the node's paths where they are not 195:N. With no GPU node in the
        configuration, what the rules allow counts, since root can make the node.
        """
        told = numbers or {}
        listed = {m for device in self.devices for m in minor_of(device.path)}
        bound = {m for mount in self.raw_mounts for m in minor_of(mount.path)}
        if not listed and not bound:
            bound = set(all_minors)
        return sorted(
            listed | {m for m in bound if self.allows(*told.get(gpu_path(m), (NVIDIA_MAJOR, m)))}
        )

    def allows(self, major: int, minor: int) -> bool:
        """Whether the raw rules let it read and write that character device."""
        allowed = False
        for rule in self.raw_allow:
            if rule.unified and rule.covers(major, minor) and {"r", "w"} <= set(rule.access):
                allowed = not rule.deny
        return allowed


def parse(conf_text: str) -> Passthrough:
    """What a configuration file passes now; lines that mean nothing are left out."""
    conf = live(conf_text)
    keys = sorted(
        (key for key in conf.keys if _DEVICE_KEY.fullmatch(key)), key=lambda k: int(k[3:])
    )
    return Passthrough(
        devices=tuple(_device(key, conf.keys[key]) for key in keys),
        raw_allow=tuple(_rules(conf)),
        raw_mounts=tuple(_mounts(conf)),
        unprivileged=conf.keys.get("unprivileged") == "1",
    )


def gpu_path(minor: int) -> str:
    """The node of that GPU."""
    return f"/dev/nvidia{minor}"


def minor_of(path: str) -> list[int]:
    """The N of /dev/nvidiaN; none of another path."""
    found = _GPU.fullmatch(path)
    return [int(found[1])] if found else []


def _device(key: str, text: str) -> Device:
    told = properties(text, "path")

    def number(name: str, base: int) -> int | None:
        try:
            return int(told[name], base)
        except (KeyError, ValueError):
            return None

    return Device(
        path=posixpath.normpath(told.get("path", "")),
        mode=number("mode", 8),
        uid=number("uid", 10),
        gid=number("gid", 10),
        deny_write=told.get("deny-write") == "1",
        key=key,
    )


def _rules(conf: Conf) -> Iterable[Rule]:
    for key, value in conf.raw:
        named, rule = _CGROUP.fullmatch(key), _RULE.fullmatch(value)
        if named and rule:
            yield Rule(
                kind=rule["kind"],
                major=int(rule["major"]) if (rule["major"] or "*") != "*" else None,
                minor=int(rule["minor"]) if (rule["minor"] or "*") != "*" else None,
                access=rule["access"] or "rwm",
                deny=named["verb"] == "deny",
                unified=bool(named["two"]),
                key=f"{key}: {value}",
            )


def _mounts(conf: Conf) -> Iterable[Mount]:
    for key, value in conf.raw:
        words = value.split()
        if key == "lxc.mount.entry" and len(words) >= 2 and words[0].startswith("/dev/"):
            options = words[3].split(",") if len(words) > 3 else []
            yield Mount(posixpath.normpath(words[0]), "optional" in options)
