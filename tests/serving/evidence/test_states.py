from datetime import timedelta

from stoker.serving.evidence.states import standing
from stoker.serving.flagset import Status
from tests.serving.evidence.records import fingerprint, record

SAID = Status(state="reported", by="the operators", machine="there", note="none")


def test_evidence_of_this_very_fingerprint_is_measured() -> None:
    found = standing(SAID, [record()], fingerprint())
    assert (found.state, found.record, found.words) == ("measured", record(), "measured")


def test_what_moved_makes_it_stale_and_is_named() -> None:
    found = standing(SAID, [record()], fingerprint(driver="580.126.09"))
    assert found.state == "stale"
    assert found.words == "stale: driver 580.95.05 -> 580.126.09"


def test_the_nearest_evidence_is_told_and_of_equals_the_newest() -> None:
    older = record(fingerprint=fingerprint(driver="570.1"))
    newer = record(fingerprint=fingerprint(driver="575.1"), date=older.date + timedelta(days=1))
    far = record(fingerprint=fingerprint(driver="575.1", torch="2.9.1", sglang="0.5.9"))
    assert standing(None, [far, newer, older], fingerprint()).record == newer


def test_without_evidence_somebody_says_it_or_nobody_does() -> None:
    assert standing(SAID, [], fingerprint()).state == "reported"
    assert standing(None, [], fingerprint()).state == "unknown"


def test_evidence_that_lacks_a_part_is_not_measured_even_where_it_is_unknown_again() -> None:
    blind = fingerprint(model=None)
    found = standing(SAID, [record(fingerprint=blind)], blind)
    assert found.words == "stale: model unknown, then and now"
