"""The verdict on one question out of all checks."""

from collections.abc import Iterator

import pytest

from stoker.refused import Refused
from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.checking import judging, told
from stoker.serving.checking.judging import Check, judge
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason, Verdict
from stoker.serving.checking.served import joined

ASKED = Question("it", "0.5.12", (), {}, Parsed(), None)
SHORT = Reason("host_ram_short", "refuse", "2400 of 449 GB", "take 48", ("8 x 300 = 2400 GB",))
OLD = Reason("flag_deprecated", "warn", "--a ends", "use --b")


def given(monkeypatch: pytest.MonkeyPatch, *checks: Check) -> None:
    monkeypatch.setattr(judging, "_checks", lambda *_: checks)


def test_refusals_come_first_and_each_reason_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given(
        monkeypatch,
        Check("flags", lambda _: ([OLD, OLD], ["one"])),
        Check("memory", lambda _: (iter([SHORT, OLD]), iter(["two", "one"]))),
    )
    assert judge(ASKED) == Verdict((SHORT, OLD), ("one", "two"))


def test_a_check_that_fails_of_itself_does_not_pass_for_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Question) -> tuple[Iterator[Reason], tuple[str, ...]]:
        def late() -> Iterator[Reason]:
            yield OLD
            raise ZeroDivisionError("division\nby zero")

        return late(), ()

    given(monkeypatch, Check("memory", broken))
    with pytest.raises(Refused) as refused:
        judge(ASKED)
    assert str(refused.value) == (
        "cannot check the memory of it: ZeroDivisionError: division by zero; "
        "this is a fault of stoker's own, report it"
    )


def test_a_verdict_is_told_in_words_with_sums_and_what_to_do() -> None:
    verdict = Verdict((SHORT, OLD), ("draft: nobody knows its size",))
    assert list(told.lines("a.yaml", verdict)) == [
        "a.yaml: refuse",
        "  refuse host_ram_short: 2400 of 449 GB",
        "      8 x 300 = 2400 GB",
        "    do: take 48",
        "  warn flag_deprecated: --a ends",
        "    do: use --b",
        "  note: draft: nobody knows its size",
    ]
    assert list(told.lines("b.yaml", Verdict())) == ["b.yaml: ok"]


def test_a_verdict_is_told_as_an_object() -> None:
    assert told.document("a.yaml", Verdict((SHORT,))) == {
        "file": "a.yaml",
        "verdict": "refuse",
        "reasons": [
            {
                "class": "host_ram_short",
                "severity": "refuse",
                "message": "2400 of 449 GB",
                "hint": "take 48",
                "sums": ["8 x 300 = 2400 GB"],
            }
        ],
    }
    assert [told.EXIT[v.word] for v in (Verdict(), Verdict((OLD,)), Verdict((SHORT,)))] == [0, 0, 1]


def test_what_is_the_same_of_eight_units_is_said_once() -> None:
    port = Reason("port_clash", "refuse", "port 30001 twice", "move it")
    verdicts = [Verdict((OLD, SHORT), ("n",)), Verdict((OLD, SHORT), ("n",)), Verdict((port,))]
    assert joined(verdicts) == Verdict((SHORT, port, OLD), ("n",))
