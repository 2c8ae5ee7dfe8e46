"""The node's kernel log beside a container's: what of it may be the cause of that run's end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stoker.health.crash import rules
from stoker.health.crash.beside import AFTER_S, BEFORE_S
from stoker.health.crash.line import KERNEL, Line
from stoker.health.crash.peeling import peel
from stoker.health.crash.runs import Candidate, Run


def candidates(dmesg: Iterable[bytes], run: Run) -> Iterator[Candidate]:
    """Kernel lines that some row knows and that fall into the time of the run."""
    for raw in _lines(dmesg):
        line = peel(0, raw)
        if line.origin != KERNEL:
            line = Line(0, line.text, KERNEL, stamp=line.stamp, year=line.year)
        if not in_time(line.stamp, run):
            continue
        for rule, found in rules.of_voice("kernel", line.text):
            yield Candidate(
                number=0,
                text=line.text,
                rule=rule,
                found=found,
                rank="",
                stamp=line.stamp,
                year=line.year,
                phase=run.endings[0].phase if run.endings else run.phases.last,
                fatal=None,
                alive=run.alive,
                origin=KERNEL,
            )
            break


def in_time(stamp: float | None, run: Run) -> bool:
    """Whether it can be of that run; a missing time is no reason against it."""
    if stamp is None or run.first_stamp is None or run.last_stamp is None:
        return True
    return run.first_stamp - BEFORE_S <= stamp <= run.last_stamp + AFTER_S


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        rest = rest[:65536]
        yield from whole
    if rest:
        yield rest
