"""What a figure was measured with: two runs of one fingerprint may be compared and believed.

A part is a value, `none` where it is known that there is nothing (a server without a draft, a
machine without a driver), or None where nobody could tell. What is unknown is never the same as
anything, not even as another unknown: evidence that lacks a part proves nothing until it is
measured anew with that part known.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated

from pydantic import Field

from stoker.serving.flagset import OWNED_ENV

NONE = "none"
"""It is known that there is none."""
UNKNOWN = "unknown"
"""How None is said."""
PLACE = ("--host", "--port", "--nccl-port")
"""Options that say where a server is, and not what it is."""
_SHOWN = 12
"""Digits of a digest that are shown, as git does."""


@dataclass(frozen=True)
class Fingerprint:
    """All that makes a server behave as it does."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}  # noqa: RUF012

    sglang: str | None
    """Installed version, not the wished one."""
    torch: str | None
    """With its build: `2.11.0+cu130`."""
    cuda: str | None
    """What torch was built for: `13.0`."""
    driver: str | None
    """NVIDIA's, `580.95.05`; `none`: the machine has none."""
    gpu: str | None
    """Kind, as the driver names it; `none` for a server without GPUs."""
    gpus: Annotated[int, Field(ge=0)] | None
    """How many this one server has."""
    model: str | None
    """Revision: a digest of config, index, shard sizes and headers."""
    draft: str | None
    """The same of the draft model; `none`: there is none."""
    flags: tuple[str, ...]
    """The server's words, one option with its values a text, sorted; `PLACE` left out."""
    env: tuple[str, ...]
    """`NAME=value` of the flag set, sorted."""

    @property
    def digest(self) -> str:
        """SHA-256 of all parts, hexadecimal."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the parts that nobody could tell."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) is None)

    @property
    def on_cpu(self) -> bool:
        """It computes on the processor, which it shares with whatever else runs there."""
        return NONE in (self.gpu, self.driver) or "--device cpu" in self.flags


def flags_of(words: Iterable[str]) -> tuple[str, ...]:
    """A command line's options as a fingerprint has them: their order makes no difference."""
    options: list[list[str]] = []
    for word in words:
        if word.startswith("--"):
            # `--a=b` and `--a b` are one thing.
            options.append(word.split("=", 1))
        elif options:
            options[-1].append(word)
    return tuple(sorted(" ".join(option) for option in options if option[0] not in PLACE))


def env_of(env: Mapping[str, str]) -> tuple[str, ...]:
    """A flag set's environment as a fingerprint has it."""
    return tuple(f"{name}={env[name]}" for name in sorted(env) if name not in OWNED_ENV)


def differences(then: Fingerprint, now: Fingerprint) -> tuple[str, ...]:
    """What moved, a phrase each: `driver 580.65 -> 580.95`. Empty: they are the same, all known."""
    return tuple(_differences(then, now))


def _differences(then: Fingerprint, now: Fingerprint) -> Iterator[str]:
    for one in fields(Fingerprint):
        old, new = getattr(then, one.name), getattr(now, one.name)
        if one.name == "flags":
            yield from _moved("flag", old, new, " ")
        elif one.name == "env":
            yield from _moved("env", old, new, "=")
        elif old is None and new is None:
            yield f"{one.name} {UNKNOWN}, then and now"
        elif old != new:
            yield f"{one.name} {_shown(one.name, old)} -> {_shown(one.name, new)}"


def _moved(kind: str, old: Iterable[str], new: Iterable[str], between: str) -> Iterator[str]:
    was, now = _by_name(old, between), _by_name(new, between)
    for name in sorted(was.keys() | now.keys()):
        if name not in now:
            yield f"{kind} {name} gone (was {_values(was[name])})"
        elif name not in was:
            yield f"{kind} {name} new: {_values(now[name])}"
        elif was[name] != now[name]:
            yield f"{kind} {name} {_values(was[name])} -> {_values(now[name])}"


def _by_name(texts: Iterable[str], between: str) -> dict[str, list[str]]:
    """Name -> what follows it, of each time it is given: which counts is the parser's to say."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name = text.partition(between)[0]
        found.setdefault(name, []).append(text[len(name) :])
    return found


def _values(rests: list[str]) -> str:
    return " and ".join(rest[1:] if rest else "on" for rest in rests)


def _shown(name: str, value: str | int | None) -> str:
    if value is None:
        return UNKNOWN
    return str(value)[:_SHOWN] if name in ("model", "draft") else str(value)
