"""The clocks of a log: of journald, the kernel, a container's runtime and SGLang."""

from __future__ import annotations

import calendar
import functools
import re
import time

from stoker.health.crash.line import Line

_MONTHS = {name: at for at, name in enumerate(calendar.month_abbr) if name}


def read(line: Line, found: re.Match[str]) -> None:
    """Gives the line its time, from what a prefix's pattern found of it."""
    named = found.groupdict()
    if named.get("unix"):
        moment = time.gmtime(float(named["unix"]))
        line.year = moment.tm_year
        line.stamp = float(named["unix"]) - calendar.timegm((moment.tm_year, 1, 1, 0, 0, 0))
    elif named.get("date"):
        year, month, day = (int(part) for part in named["date"].split("-"))
        line.year, line.stamp = year, _stamp(year, month, day, named["time"])
    elif named.get("month") in _MONTHS:
        said = named.get("year")
        year = int(said) if said else 2026  # no leap day is lost that a log without a year has
        month, day = _MONTHS[named["month"]], int(named["day"])
        line.year, line.stamp = (
            int(said) if said else None,
            _stamp(year, month, day, named["clock"]),
        )
    if line.year is not None and line.year < 1970:  # 0000: a clock that was not set
        line.year = None


def _stamp(year: int, month: int, day: int, clock: str) -> float | None:
    """Seconds since the year began; None: there is no such moment."""
    began = _day(year, month, day)
    if began is None:
        return None
    return began + int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + int(clock[6:8])


@functools.lru_cache(maxsize=512)
def _day(year: int, month: int, day: int) -> float | None:
    if not (1 <= month <= 12 and 1 <= day <= 31 and year >= 1970):
        return None
    began = calendar.timegm((year, 1, 1, 0, 0, 0))
    return float(calendar.timegm((year, month, day, 0, 0, 0)) - began)


def epoch(stamp: float | None, year: int | None) -> float | None:
    """Seconds since 1970, as if the clock were UTC's; None: the time or the year is not known."""
    if stamp is None or year is None:
        return None
    return calendar.timegm((year, 1, 1, 0, 0, 0)) + stamp
