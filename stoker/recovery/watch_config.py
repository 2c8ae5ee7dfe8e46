"""What the watch is told to do: one JSON file, every problem of it at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PLACE = "/etc/stoker/watch.json"
# How far up -> what `recover` must be allowed for it. R1 to R3 need no word of permission.
ALLOWED = {
    "R3": (),
    "R4": ("--allow-restart",),
    "R5": ("--allow-restart", "--allow-gpu-reset"),
    "R6": ("--allow-restart", "--allow-gpu-reset", "--allow-driver-reload"),
}
MOST_PER_DAY = 24
_UNIT = re.compile(r"[A-Za-z0-9@:_.][A-Za-z0-9@:_.\\-]{0,250}")
_VMID = re.compile(r"[1-9][0-9]{2,8}")


class Unfit(Exception):
    """The file cannot be followed; every problem, one a line."""


@dataclass(frozen=True)
class Limit:
    """What the watch may do for one container."""

    up_to: str
    """The highest rung, a key of `ALLOWED`."""
    units: tuple[str, ...]
    """Units to free; empty: what `recover` finds."""


@dataclass(frozen=True)
class Ladder:
    """When the watch may climb by itself."""

    vmids: dict[int, Limit]
    at_most_per_day: int
    """Runs for one container within 24 hours."""


@dataclass(frozen=True)
class Config:
    """The whole file."""

    metrics: str
    """Where the metrics go; the collector wants a name that ends in .prom."""
    status: str
    """Where the status goes, as JSON."""
    ladder: Ladder | None
    """None: look only."""


def read(path: str) -> Config:
    """The file at `path`; Unfit if it cannot be read or followed."""
    try:
        with open(path, encoding="utf-8") as stream:
            data = json.load(stream, object_pairs_hook=_once)
    except OSError as error:
        raise Unfit(f"cannot watch: {path}: {error.strerror}; write it, see docs") from None
    except (ValueError, RecursionError) as error:
        raise Unfit(f"cannot watch: {path} is not JSON: {error}; correct it") from None
    problems = list(_problems(data))
    if problems:
        raise Unfit("\n".join(f"cannot watch: {path}: {problem}" for problem in problems))
    return _config(data)


def _config(data: dict[str, Any]) -> Config:
    ladder = data.get("ladder")
    if ladder is None:
        return Config(data["metrics"], data["status"], None)
    limits = {
        int(vmid): Limit(limit["up_to"], tuple(limit.get("units", ())))
        for vmid, limit in ladder["vmids"].items()
    }
    return Config(data["metrics"], data["status"], Ladder(limits, ladder["at_most_per_day"]))


def _problems(data: Any) -> Iterator[str]:
    yield from _keys("", data, wanted={"metrics", "status"}, known={"ladder"})
    if not isinstance(data, dict):
        return
    for key in ("metrics", "status"):
        if key in data and not (isinstance(data[key], str) and data[key].startswith("/")):
            yield f"{key}: is {data[key]!r}; name a file by its whole path"
    if not str(data.get("metrics", ".prom")).endswith(".prom"):
        yield f"metrics: is {data['metrics']!r}; the collector reads only names in .prom"
    if data.get("ladder") is not None:
        yield from _ladder(data["ladder"])


def _ladder(ladder: Any) -> Iterator[str]:
    yield from _keys("ladder.", ladder, wanted={"vmids", "at_most_per_day"})
    if not isinstance(ladder, dict):
        return
    most = ladder.get("at_most_per_day", 1)
    if type(most) is not int or not 1 <= most <= MOST_PER_DAY:
        yield f"ladder.at_most_per_day: is {most!r}; give a number from 1 to {MOST_PER_DAY}"
    vmids = ladder.get("vmids", {})
    if not isinstance(vmids, dict):
        yield f"ladder.vmids: is {vmids!r}; name each container"
        return
    for vmid, limit in vmids.items():
        if not _VMID.fullmatch(vmid):
            yield f"ladder.vmids.{vmid}: is no container's number; it has three to nine digits"
        yield from _limit(f"ladder.vmids.{vmid}.", limit)


def _limit(place: str, limit: Any) -> Iterator[str]:
    yield from _keys(place, limit, wanted={"up_to"}, known={"units"})
    if not isinstance(limit, dict):
        return
    rung, units = limit.get("up_to"), limit.get("units", [])
    if "up_to" in limit and (not isinstance(rung, str) or rung not in ALLOWED):
        yield f"{place}up_to: is {rung!r}; give one of {', '.join(ALLOWED)}"
    if not isinstance(units, list):
        yield f"{place}units: is {units!r}; give a list of units"
        return
    for unit in units:
        if not isinstance(unit, str) or not _UNIT.fullmatch(unit):
            yield f"{place}units: {unit!r} is no unit's name"


def _keys(
    place: str, data: Any, wanted: set[str], known: frozenset[str] | set[str] = frozenset()
) -> Iterator[str]:
    if not isinstance(data, dict):
        yield f"{place.rstrip('.') or 'the file'}: is {data!r}; give keys and values"
        return
    for key in sorted(data.keys() - wanted - known):
        yield f"{place}{key}: unknown key; known: {', '.join(sorted({*wanted, *known}))}"
    for key in sorted(wanted - data.keys()):
        yield f"{place}{key}: is missing"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON says a later key wins silently; here both are an error."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = sorted({key for key, _ in pairs if [k for k, _ in pairs].count(key) > 1})
        raise ValueError(f"{', '.join(twice)} stands there twice")
    return found
