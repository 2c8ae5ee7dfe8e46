"""What a value of the data `container` may be, so that nothing breaks out of where it is put.

Values end in property strings (`bridge=vmbr0,ip=dhcp`), in a command line and in a file of one
line a key. The patterns are Proxmox's own formats, or narrower.
"""

import ipaddress
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

LONGEST = 8192
"""Characters of one text. One word of a command line takes 128 KiB."""


class Strict(BaseModel):
    """A dictionary of the inventory: no unknown keys, no kind taken for another."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, str_max_length=LONGEST)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


AS_TUPLE = BeforeValidator(_tuple)
"""A list of the inventory, kept as a tuple."""


def form(pattern: str, otherwise: str) -> AfterValidator:
    """Text that is wholly of this pattern; `otherwise`: what is said of another."""
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError(otherwise)
        return value

    return AfterValidator(check)


def _host_name(value: str) -> str:
    label = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    if len(value) > 253 or not re.fullmatch(rf"{label}(\.{label})*", value):
        raise ValueError("is no host name; write letters, digits, hyphens and dots")
    return value


def _each(check: Any) -> AfterValidator:
    """Words with spaces between, each of which is sound."""

    def all_of(value: str) -> str:
        words = value.split(" ")
        for word in words:
            check(word)
        return value

    return AfterValidator(all_of)


def _any_address(value: str) -> str:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        raise ValueError("is no IP address; write several with one space between") from None
    if "%" in value and not re.fullmatch(r"[^%]+%[A-Za-z0-9_.-]{1,15}", value):
        raise ValueError("names no interface after its %")
    return value


def _gateway(kind: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]) -> AfterValidator:
    def check(value: str) -> str:
        try:
            if "%" in value:
                raise ValueError
            kind(value)
        except ValueError:
            raise ValueError(f"is no {_family(kind)} address without a /prefix") from None
        return value

    return AfterValidator(check)


def _interface(
    kind: type[ipaddress.IPv4Interface] | type[ipaddress.IPv6Interface], *words: str
) -> AfterValidator:
    def check(value: str) -> str:
        if value in words:
            return value
        try:
            if "%" in value or not re.search(r"/\d{1,3}\Z", value):
                raise ValueError
            kind(value)
        except ValueError:
            form = f"an {_family(kind)} address with its /prefix"
            raise ValueError(f"is not {', '.join(words)} or {form}") from None
        return value

    return AfterValidator(check)


def _family(kind: type[Any]) -> str:
    return "IPv4" if kind.__name__.startswith("IPv4") else "IPv6"


def _text(value: str) -> str:
    """Text of several lines, as a description is: at most 8 KiB, Proxmox's own limit."""
    if not all(line.isprintable() for line in re.split(r"[\n\t]", value)):
        raise ValueError("has control characters")
    if len(value.encode()) > 8192:
        raise ValueError("is longer than 8 KiB")
    return value


def _path(value: str) -> str:
    if not value.isprintable() or set(value) & set(",=;"):
        raise ValueError("has a comma, an equals sign, a semicolon or a control character")
    if not value.startswith("/"):
        raise ValueError("does not begin with /")
    whole = value.rstrip("/")
    if value != value.strip() or {".", "..", ""} & set(whole.split("/")[1:]):
        raise ValueError("has `.`, `..`, `//` or a space at its end")
    return whole or "/"


def _source(value: str) -> str:
    if value.startswith("/"):
        if (path := _path(value)) == "/":
            raise ValueError("is the whole node; name a directory below it")
        return path
    if not re.fullmatch(STORAGE, value):
        raise ValueError("is neither a path of the node, /..., nor a storage's name")
    return value


def _tag(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_+.-]*", value):
        raise ValueError("is no tag; write letters, digits and _ + . -")
    return value.lower()


def _quoted(value: Any) -> Any:
    if isinstance(value, int):
        raise ValueError(_MODE_FORM)
    return value


_MODE_FORM = 'is no mode; write four digits in quotes, "0666"'
STORAGE = r"[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]"
_TEMPLATE = rf"{STORAGE}:vztmpl/[A-Za-z0-9][A-Za-z0-9_.+~-]*\.tar(\.gz|\.xz|\.zst|\.bz2)?"
_TEMPLATE_FORM = 'is no template; write one as `pveam list` does: "local:vztmpl/NAME.tar.zst"'

Template = Annotated[str, form(_TEMPLATE, _TEMPLATE_FORM)]
Storage = Annotated[str, form(STORAGE, "is no storage's name; see `pvesm status`")]
_POOL = r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}"
Pool = Annotated[str, form(_POOL, "is no pool's name")]
HostName = Annotated[str, AfterValidator(_host_name)]
NameServers = Annotated[str, _each(_any_address)]
SearchDomains = Annotated[str, _each(_host_name)]
Text = Annotated[str, AfterValidator(_text)]
Tag = Annotated[str, AfterValidator(_tag)]
Interface = Annotated[str, form(r"[A-Za-z][A-Za-z0-9_.-]{0,14}", "is no interface's name")]
Bridge = Annotated[str, form(r"[A-Za-z][A-Za-z0-9_.-]{0,14}", "is no bridge's name")]
Ip4 = Annotated[str, _interface(ipaddress.IPv4Interface, "dhcp", "manual")]
Ip6 = Annotated[str, _interface(ipaddress.IPv6Interface, "dhcp", "auto", "manual")]
Gateway4 = Annotated[str, _gateway(ipaddress.IPv4Address)]
Gateway6 = Annotated[str, _gateway(ipaddress.IPv6Address)]
Source = Annotated[str, AfterValidator(_source)]
Target = Annotated[str, AfterValidator(_path)]
FileSystem = Annotated[str, form(r"[A-Za-z0-9_]+", "is no file system's name")]
Mode = Annotated[str, BeforeValidator(_quoted), form(r"0[0-7]{3}", _MODE_FORM)]
Gib = Annotated[int, Field(ge=1, le=1 << 20)]
