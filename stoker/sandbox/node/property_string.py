"""Stand-in: PVE's property strings, `/dev/nvidia0,mode=0660`, and the formats a container has."""

from __future__ import annotations

import re
from typing import Callable, Dict, Mapping, NamedTuple, Optional, Pattern, Tuple

Check = Callable[[str], Optional[str]]


class Format(NamedTuple):
    """The keys of one property string: how each is checked, which may stand without its name."""

    keys: Mapping[str, Check]
    default_key: Optional[str] = None
    required: Tuple[str, ...] = ()


def _any(_value: str) -> Optional[str]:
    return None


def _pattern(pattern: Pattern[str]) -> Check:
    def check(value: str) -> Optional[str]:
        return None if pattern.fullmatch(value) else "value does not match the regex pattern"

    return check


def check_integer(value: str) -> Optional[str]:
    """The complaint about a value that should be a whole number, None for a good one."""
    if re.fullmatch(r"[+-]?\d+", value):
        return None
    return f"type check ('integer') failed - got '{value}'"


def check_boolean(value: str) -> Optional[str]:
    """The complaint about a value that should be a boolean in PVE's spelling."""
    if value.lower() in ("0", "1", "on", "off", "yes", "no", "true", "false"):
        return None
    return f"type check ('boolean') failed - got '{value}'"


def _device_path(value: str) -> Optional[str]:
    if value.startswith("/dev/"):
        return None
    return f"invalid format - {value} is not a valid device path"


DEVICE = Format(
    {
        "path": _device_path,
        "mode": _pattern(re.compile(r"0[0-7]{3}")),
        "uid": check_integer,
        "gid": check_integer,
        "deny-write": check_boolean,
    },
    "path",
    ("path",),
)
_VOLUME = {
    "volume": _any,
    "size": _any,
    "ro": check_boolean,
    "acl": check_boolean,
    "quota": check_boolean,
    "shared": check_boolean,
    "replicate": check_boolean,
    "mountoptions": _any,
}
ROOTFS = Format(_VOLUME, "volume", ("volume",))
MOUNT_POINT = Format({**_VOLUME, "mp": _any, "backup": check_boolean}, "volume", ("volume", "mp"))
NETWORK = Format(
    {
        **dict.fromkeys(("name", "bridge", "hwaddr", "ip", "ip6", "gw", "gw6", "trunks"), _any),
        **dict.fromkeys(("mtu", "tag", "rate"), check_integer),
        **dict.fromkeys(("firewall", "link_down", "host-managed"), check_boolean),
        "type": _pattern(re.compile("veth")),
    },
    None,
    ("name",),
)
FEATURES = Format(
    {
        **dict.fromkeys(("nesting", "keyctl", "fuse", "mknod", "force_rw_sys"), check_boolean),
        "mount": _any,
    }
)
STARTUP = Format(dict.fromkeys(("order", "up", "down"), check_integer), "order")


def parse(value: str, form: Format) -> Dict[str, str]:
    """The keys and values of one property string; the bare word is under the default key."""
    fields: Dict[str, str] = {}
    for part in value.split(","):
        if not part:
            continue
        key, equals, text = part.partition("=")
        if not equals and form.default_key:
            key, text = form.default_key, part
        fields[key] = text
    return fields


def complaint(name: str, value: str, form: Format) -> Optional[str]:
    """What is wrong with a property string, in the lines PVE prints after `name: `."""
    problems: Dict[str, str] = {}
    for key, text in parse(value, form).items():
        check = form.keys.get(key)
        if check is None:
            found: Optional[str] = (
                "property is not defined in schema and the schema does not allow "
                "additional properties"
            )
        else:
            found = check(text)
        if found:
            problems[key] = found
    for key in form.required:
        if key not in parse(value, form):
            problems[key] = "property is missing and it is not optional"
    if not problems:
        return None
    lines = [f"{name}.{key}: {problems[key]}" for key in sorted(problems)]
    return "\n".join(["invalid format - format error", *lines])


def render(fields: Mapping[str, str], form: Format) -> str:
    """The property string of these fields: the default key first and bare, then those that are
    required, then the rest, each sorted."""
    first = form.default_key
    words = [fields[first]] if first is not None and first in fields else []
    keys = [key for key in fields if key != first]
    rest = sorted(keys, key=lambda key: (key not in form.required, key))
    return ",".join(words + [f"{key}={fields[key]}" for key in rest])


def truth(value: Optional[str]) -> bool:
    """A PVE boolean; None (absent) is false."""
    return (value or "").lower() in ("1", "on", "yes", "true")
