"""What Proxmox makes of the options of a new container: a file, each value in its own spelling."""

import re
from collections.abc import Mapping
from urllib.parse import quote

_UNITS = "KMGT"
_OF_CREATION = ("ostemplate", "storage", "pool")
_ABSENT = {"hostname": "CT200", "memory": "512", "swap": "512", "arch": "amd64", "ostype": "debian"}


def text(options: Mapping[str, str]) -> str:
    """The file, as the Perl code writes it."""
    kept = {key: value for key, value in options.items() if key not in _OF_CREATION}
    keys = {**_ABSENT, **{key: value(key, said) for key, said in kept.items()}}
    if keys.get("unprivileged") == "0":
        del keys["unprivileged"]
    about = keys.pop("description", "").rstrip()
    lines = [f"#{quote(line, safe=' #,')}" for line in about.split("\n")] if about else []
    return "\n".join([*lines, *(f"{key}: {keys[key]}" for key in sorted(keys)), ""])


def value(key: str, said: str) -> str:
    """A value as it is stored."""
    stem = key.rstrip("0123456789")
    if stem == "net":
        fields = {**_fields(said), "hwaddr": "BC:24:11:AA:BB:CC", "type": "veth"}
        return _joined({"name": fields.pop("name"), **dict(sorted(fields.items()))})
    if stem in ("mp", "rootfs"):
        return _volume(said)
    if key == "features":
        return _joined(dict(sorted(_fields(said).items())))
    if key == "tags":
        return ";".join(sorted({tag.lower() for tag in said.split(";")}))
    return said


def _volume(said: str) -> str:
    volume, *rest = said.split(",")
    fields = dict(part.split("=", 1) for part in rest)
    if new := re.fullmatch(r"([^:/]+):(\d+)", volume):
        volume, fields["size"] = f"{new[1]}:subvol-200-disk-0", _size(int(new[2]) << 30)
    return ",".join([volume, *(f"{key}={fields[key]}" for key in sorted(fields))])


def _size(count: int) -> str:
    """The largest unit that divides it: 1024G is 1T."""
    exponent = max(n for n in range(len(_UNITS) + 1) if count % (1 << 10 * n) == 0)
    return f"{count >> 10 * exponent}{_UNITS[exponent - 1]}"


def _fields(said: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in said.split(","))


def _joined(fields: Mapping[str, str]) -> str:
    return ",".join(f"{key}={text}" for key, text in fields.items())
