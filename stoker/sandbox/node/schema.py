"""Stand-in: the configuration keys of a container, how each is checked and when it takes effect."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple, Optional, Sequence

from . import property_string as ps
from . import version


class Effect(Enum):
    """When a changed key reaches a running container."""

    AT_ONCE = "written at once"
    HOTPLUG = "changed in the running container"
    NEW_ONLY = "hot-plugged when new, else pending"
    PENDING = "at the next start"
    READ_ONLY = "only when it is created"


class Key(NamedTuple):
    """One key: its type ('integer', 'number', 'boolean', 'string'), bounds and effect."""

    kind: str = "string"
    effect: Effect = Effect.PENDING
    low: Optional[float] = None
    high: Optional[float] = None
    words: Sequence[str] = ()
    form: Optional[ps.Format] = None


LOCKS = (
    *("backup", "create", "destroyed", "disk", "fstrim", "migrate", "mounted"),
    *("rollback", "snapshot", "snapshot-delete"),
)
KEYS = {
    "arch": Key(effect=Effect.READ_ONLY, words=("amd64", "i386", "arm64", "armhf")),
    "cmode": Key(words=("shell", "console", "tty")),
    "console": Key("boolean"),
    "cores": Key("integer", Effect.AT_ONCE, 1, 8192),
    "cpulimit": Key("number", Effect.HOTPLUG, 0, 8192),
    "cpuunits": Key("integer", Effect.HOTPLUG, 0, 500000),
    "debug": Key("boolean"),
    "description": Key(effect=Effect.AT_ONCE),
    "entrypoint": Key(),
    "env": Key(),
    "features": Key(form=ps.FEATURES),
    "hookscript": Key(effect=Effect.AT_ONCE),
    "hostname": Key(effect=Effect.AT_ONCE),
    "lock": Key(effect=Effect.AT_ONCE, words=LOCKS),
    "memory": Key("integer", Effect.HOTPLUG, 16),
    "nameserver": Key(),
    "onboot": Key("boolean", Effect.AT_ONCE),
    "ostype": Key(effect=Effect.READ_ONLY),
    "protection": Key("boolean", Effect.AT_ONCE),
    "rootfs": Key(form=ps.ROOTFS),
    "searchdomain": Key(),
    "startup": Key(effect=Effect.AT_ONCE, form=ps.STARTUP),
    "swap": Key("integer", Effect.HOTPLUG, 0),
    "tags": Key(effect=Effect.AT_ONCE),
    "template": Key("boolean"),
    "timezone": Key(),
    "tty": Key("integer", low=0, high=6),
    "unprivileged": Key("boolean", Effect.READ_ONLY),
}
NUMBERED = {
    "dev": (256, Key(effect=Effect.NEW_ONLY, form=ps.DEVICE)),
    "mp": (256, Key(effect=Effect.NEW_ONLY, form=ps.MOUNT_POINT)),
    "net": (32, Key(effect=Effect.HOTPLUG, form=ps.NETWORK)),
    "unused": (256, Key()),
}
# Written by Proxmox itself, never given on a command line.
INTERNAL = ("parent", "snaptime", "snapstate", "delete")
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")


def find(name: str) -> Optional[Key]:
    """The key of this name, numbered ones as well; None for a name that Proxmox does not have."""
    match = re.fullmatch(r"([a-z]+)(0|[1-9]\d*)", name)
    if match and match.group(1) in NUMBERED:
        if match.group(1) == "dev" and not version.has_devices():
            return None
        limit, key = NUMBERED[match.group(1)]
        return key if int(match.group(2)) < limit else None
    return KEYS.get(name)


def names() -> Sequence[str]:
    """Every key that a command line may set."""
    numbered = [f"{stem}{n}" for stem, (limit, _key) in NUMBERED.items() for n in range(limit)]
    return [name for name in (*KEYS, *numbered) if find(name)]


def tags(text: str) -> str:
    """As Proxmox stores them: in lower case, each once, sorted."""
    return ";".join(sorted({tag.lower() for tag in re.split(r"[,;\s]+", text) if tag}))


def complaint(name: str, value: str) -> Optional[str]:
    """What is wrong with a value, in Proxmox's words; None for a good one or an unknown key."""
    key = find(name)
    if key is None:
        return None
    if key.form:
        return ps.complaint(name, value, key.form)
    if name == "hostname" and not _HOST.fullmatch(value):
        return "invalid format - value does not look like a valid DNS name"
    return of_key(key, value)


def of_key(key: Key, value: str) -> Optional[str]:
    """What is wrong with a value for a key of that kind, bounds and words."""
    if key.words and value not in key.words:
        return f"value '{value}' does not have a value in the enumeration '{', '.join(key.words)}'"
    if key.kind == "boolean":
        return ps.check_boolean(value)
    if key.kind in ("integer", "number"):
        return _number(value, key)
    return None


def _number(value: str, key: Key) -> Optional[str]:
    pattern = r"[+-]?\d+" if key.kind == "integer" else r"[+-]?\d+(\.\d+)?"
    if not re.fullmatch(pattern, value):
        return f"type check ('{key.kind}') failed - got '{value}'"
    if key.low is not None and float(value) < key.low:
        return f"value must have a minimum value of {key.low:g}"
    if key.high is not None and float(value) > key.high:
        return f"value must have a maximum value of {key.high:g}"
    return None
