"""What the inventory says about a host that serves: of the right kind, before anything is done."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stoker.serving.flagset import CONTROL, NAME

_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_UNIT = re.compile(r"\*|sglang(@[0-9]+)?(\.service)?")
_SECRET = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def problems(host: str, data: Mapping[str, Any]) -> list[str]:
    """One sentence for each key of this host's data that cannot be meant; secrets are not told.

    A key that is absent or None is as if it was not given.
    """
    return [
        f"cannot use `{key}` of {host}: {problem}"
        for key, check in _CHECKS.items()
        if data.get(key) is not None
        for problem in check(data[key])
    ]


def _flagsets(value: Any) -> Iterator[str]:
    if not isinstance(value, list | tuple):
        yield f"it is {value!r}; write a list of flag sets' names, such as ['qwen3.6-27b']"
        return
    for name in value:
        if not (isinstance(name, str) and re.fullmatch(NAME, name)):
            yield f"{name!r} is no flag set's name; write the name of a file, without .yaml"


def _service_user(value: Any) -> Iterator[str]:
    if not (isinstance(value, str) and _USER.fullmatch(value)):
        yield f"{value!r} is no user's name; write one, such as sglang"


def _stop_foreign(value: Any) -> Iterator[str]:
    # `--data stop_foreign=no` is the text "no", which Python takes for true.
    if not isinstance(value, bool):
        yield f"it is {value!r}; write True or False (--data stop_foreign=true)"


def _secrets(value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield "it is no table; write {unit, or * for all: {name: secret}}"
        return
    for unit, named in value.items():
        if not (isinstance(unit, str) and _UNIT.fullmatch(unit)):
            yield f"{unit!r} is no unit of ours; write *, sglang or sglang@N"
        if not isinstance(named, Mapping):
            yield f"that of {unit!r} is no table; write {{name: secret}}"
            continue
        for name, secret in named.items():
            if not (isinstance(name, str) and _SECRET.fullmatch(name)):
                yield f"{name!r} is no environment variable's name; use letters, digits and _"
            if not isinstance(secret, str) or not secret or CONTROL.search(secret):
                yield f"{name!r} of {unit!r} is no line of text; see where it is read from"


def _wheel_index(value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping) or set(value) - {"url", "ca_file"}:
        yield "it is no table of `url` and `ca_file`; write {'url': ..., 'ca_file': ...}"
    elif not all(isinstance(v, str) and v and not CONTROL.search(v) for v in value.values()):
        yield "its values are not one line of text each; correct them"


_CHECKS = {
    "flagsets": _flagsets,
    "service_user": _service_user,
    "stop_foreign": _stop_foreign,
    "secrets": _secrets,
    "wheel_index": _wheel_index,
}
