from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from stoker.health.crash.diagnosing import diagnose
from stoker.health.crash.verdict import Verdict
from tests.health.crash import shared

CASES = shared.cases()


@shared.needed
def test_all_of_them_are_there() -> None:
    assert len(CASES) == 53


@shared.needed
@pytest.mark.parametrize("case", CASES, ids=[f"{case.id}-{case.name}" for case in CASES])
def test_a_log_from_the_field_comes_to_its_cause(case: shared.Case) -> None:
    found = shared.verdict(case)
    assert (found.name, found.phase, found.line) == (case.name, case.phase, case.line)


@shared.needed
def test_where_the_chunks_are_cut_changes_nothing() -> None:
    chance, wrong = random.Random(3), []
    for number, case in enumerate(CASES):
        log, whole = end_of(case)
        size = (1, 7, 64)[number % 3]
        at = chance.randrange(1, len(log))
        for chunks in (cut(log, size), [log[:at], b"", log[at:]]):
            if diagnose(chunks, case.version) != whole:
                wrong.append((case.id, size, at))
    assert wrong == []


@shared.needed
def test_line_ends_and_colours_change_nothing() -> None:
    wrong = []
    for case in CASES:
        log, whole = end_of(case)
        lines = log.split(b"\n")
        crlf = b"\n".join(line.rstrip(b"\r") + b"\r" for line in lines)
        colours = b"\n".join(b"\x1b[1;31m" + line + b"\x1b[0m" if line else line for line in lines)
        wanted = (whole.name, whole.line, whole.phase)
        wrong += [
            (case.id, found) for found in (told(case, crlf), told(case, colours)) if found != wanted
        ]
    assert wrong == []


def end_of(case: shared.Case) -> tuple[bytes, Verdict]:
    """Of a very long one its last lines, else all of it; and what it comes to."""
    log = case.log()
    if len(log) <= 100_000:
        return log, shared.verdict(case)
    return log[-8_000:], diagnose([log[-8_000:]], case.version)


def cut(log: bytes, size: int) -> Iterator[bytes]:
    return (log[at : at + size] for at in range(0, len(log), size))


def told(case: shared.Case, log: bytes) -> tuple[str, int | None, str]:
    found = diagnose([log], case.version)
    return found.name, found.line, found.phase
