import random

import pytest

from stoker.health.crash.diagnosing import diagnose
from tests.health.crash import shared

CASES = shared.cases()


@shared.needed
def test_all_of_them_are_there() -> None:
    assert len(CASES) == 53


@shared.needed
@pytest.mark.parametrize("case", CASES, ids=[f"{case.id}-{case.name}" for case in CASES])
def test_a_log_from_the_field_comes_to_its_cause(case: shared.Case) -> None:
    found = diagnose([case.log()], case.version)
    assert (found.name, found.phase, found.line) == (case.name, case.phase, case.line)


@shared.needed
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_where_the_chunks_are_cut_changes_nothing(case: shared.Case) -> None:
    log = case.log()
    if len(log) > 100_000:
        log = log[-8_000:]
    whole = diagnose([log], case.version)
    chance = random.Random(case.id)
    for size in (1, 7, 64, 4096):
        cuts = range(0, len(log), size)
        assert diagnose((log[at : at + size] for at in cuts), case.version) == whole
    at = chance.randrange(1, len(log))
    assert diagnose([log[:at], b"", log[at:]], case.version) == whole


@shared.needed
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_line_ends_and_colours_and_a_prefix_change_nothing(case: shared.Case) -> None:
    log = case.log()
    if len(log) > 100_000:
        log = log[-8_000:]
    whole = diagnose([log], case.version)
    lines = log.split(b"\n")
    crlf = b"\n".join(line.rstrip(b"\r") + b"\r" for line in lines)
    colours = b"\n".join(b"\x1b[1;31m" + line + b"\x1b[0m" if line else line for line in lines)
    for other in (crlf, colours):
        found = diagnose([other], case.version)
        assert (found.name, found.line, found.phase) == (whole.name, whole.line, whole.phase)
