"""Proxmox's property strings, `/dev/nvidia0,mode=0666`: read, changed in part, compared.

Two of them are the same when Proxmox takes them for the same: `ro=1` is `ro=on`, `size=8G` is
`size=8192M`, a key under its default name may stand bare, and what is absent has its default.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Edit = Callable[[str | None], str]
"""The present value of a key -> the value it should have."""


@dataclass(frozen=True)
class Form:
    """The property string of one key."""

    bare: str = ""
    """Key that may stand without its name."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """What a key means that is not there."""


FORMS = {
    "dev": Form("path", {"mode": "0660", "uid": "0", "gid": "0", "deny-write": "0"}),
    "features": Form(
        "", dict.fromkeys(("nesting", "keyctl", "fuse", "mknod", "force_rw_sys"), "0")
    ),
    "mp": Form("volume", dict.fromkeys(("backup", "quota", "ro", "shared"), "0")),
    "net": Form("", {"firewall": "0", "link_down": "0", "type": "veth"}),
    "rootfs": Form("volume", dict.fromkeys(("quota", "ro", "shared"), "0")),
    "startup": Form("order"),
}
_BOOLEANS = {"1": "1", "on": "1", "yes": "1", "true": "1"} | dict.fromkeys(
    ("0", "off", "no", "false"), "0"
)
_WITH_BOOLEANS = {
    *("acl", "backup", "deny-write", "firewall", "force_rw_sys", "fuse", "keyctl", "link_down"),
    *("mknod", "nesting", "quota", "replicate", "ro", "shared"),
}
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def parse(stem: str, text: str) -> dict[str, str]:
    """The keys and values, in their order; `stem` is `dev` of `dev0`."""
    bare = FORMS[stem].bare
    fields: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        if equals:
            fields[key] = value
        elif key:
            fields[bare or key] = key if bare else ""
    return fields


def render(stem: str, fields: Mapping[str, str]) -> str:
    """The string of these fields: the bare one first, the rest in their order."""
    bare = FORMS[stem].bare
    first = [fields[bare]] if bare in fields else []
    return ",".join([*first, *(f"{key}={fields[key]}" for key in fields if key != bare)])


def merging(stem: str, said: Mapping[str, str]) -> Edit:
    """A change that sets these fields, takes away those said to be empty, and leaves the others."""

    def edit(text: str | None) -> str:
        fields = {**parse(stem, text or ""), **said}
        return render(stem, {key: value for key, value in fields.items() if said.get(key) != ""})

    return edit


def normal(stem: str, text: str) -> dict[str, str]:
    """What it means, in one spelling; what says no more than its absence is left out."""
    meant = {key: _meaning(key, value) for key, value in parse(stem, text).items()}
    return {key: value for key, value in meant.items() if FORMS[stem].absent.get(key) != value}


def bytes_of(size: str) -> int | None:
    """`8G`, `512M`, `4` (bytes) -> bytes; None for what is no size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", size)
    return int(float(match[1]) * (1 << _UNITS[match[2]])) if match else None


def _meaning(key: str, value: str) -> str:
    if key in _WITH_BOOLEANS:
        return _BOOLEANS.get(value.lower(), value)
    if key == "size":
        size = bytes_of(value)
        return value if size is None else str(size)
    if key in ("ip6", "gw6"):
        return _address(value)
    if key in ("mp", "path", "volume") and value.startswith("/"):
        return value.rstrip("/") or "/"
    if key == "mount":
        return ";".join(sorted(re.split(r"[; ]+", value)))
    return value.upper() if key == "hwaddr" else value


def _address(value: str) -> str:
    try:
        return str(ipaddress.ip_interface(value)) if "/" in value else value.lower()
    except ValueError:
        return value


def truth(value: str | None) -> bool:
    """A boolean of Proxmox; None, it is not there, is no."""
    return _BOOLEANS.get((value or "").lower()) == "1"
