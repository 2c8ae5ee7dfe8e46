"""Which versions of SGLang print a text, and what becomes of a row for the others."""

from __future__ import annotations

import pytest

from stoker.health.crash import rule, rules, versions
from stoker.health.crash.diagnosing import diagnose

ORDERED = (
    "0.4.10",
    "0.5.9",
    "0.5.9.post1",
    "0.5.12.dev3",
    "0.5.12rc1",
    "0.5.12.rc2",
    "0.5.12",
    "v0.5.12.post1.dev4+g12ab",
    "0.5.12.post1+cu130",
    "0.5.12.post2",
    "0.5.23",
    "0.10",
)
HUNG = b"[2026-04-16 10:10:05 TP0] Watchdog timeout (self.watchdog_timeout=300)\nSIGQUIT received."
OLDEST_ONLY = "hang-scheduler-old"


def test_versions_stand_in_their_order() -> None:
    keys = [versions.key(version) for version in ORDERED]
    assert all(one is not None for one in keys)
    assert sorted(keys) == keys and len(set(keys)) == len(keys)  # type: ignore[type-var]


def test_a_zero_at_the_end_makes_no_other_version() -> None:
    assert versions.key("0.6") == versions.key("0.6.0")


@pytest.mark.parametrize("version", ["", "unknown", "0.0.0", "0.0.0.dev1+gabc", "main", "7"])
def test_what_is_no_version_may_be_any(version: str) -> None:
    assert versions.within(versions.bounds("<0.5.9"), version)
    assert versions.within(versions.bounds(">=0.5.9"), version)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">0.5.9,<0.5.18", "0.5.12", "0.5.9"),
        (">0.5.9,<0.5.18", "0.5.9.post1", "0.5.18"),
        (">=0.5.12", "0.5.12", "0.5.12rc1"),
        ("<=0.5.12", "0.5.12", "0.5.12.post1"),
        ("any", "0.5.12", None),
    ],
)
def test_a_range_holds_what_lies_between_its_bounds(
    text: str, inside: str, outside: str | None
) -> None:
    assert versions.within(versions.bounds(text), inside)
    assert outside is None or not versions.within(versions.bounds(text), outside)


@pytest.mark.parametrize("text", ["", "0.5.12", ">= 0.5.12", "=0.5.12", ">0.5.9,", ">new"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no bound"):
        versions.bounds(text)


@pytest.mark.parametrize("version", ["", "0.5.6", "0.5.12"])
def test_a_row_is_used_for_a_version_of_its_range_or_none_and_doubted_for_another(
    version: str,
) -> None:
    (rule, _), *_ = rules.of_message("Watchdog timeout (self.watchdog_timeout=300)", version)
    assert rule.id == OLDEST_ONLY and rule.prints(version) == (version != "0.5.12")
    found = diagnose([HUNG], version)
    assert (found.name, found.confidence) == (
        "nccl_hang",
        "low" if version == "0.5.12" else "medium",
    )


def test_a_row_that_another_version_prints_gives_way_to_one_that_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "Watchdog timeout (self.watchdog_timeout=300)"
    old = next(rule for rule, _ in rules.of_message(text))
    new = rule.made({**ROW, "id": "new", "sglang": ">=0.5.9", "pattern": "Watchdog timeout"})
    monkeypatch.setattr(rules, "_messages", lambda: {"Watc": (old, new)})
    first = {
        version: next(rules.of_message(text, version))[0].id for version in ("", "0.5.6", "0.5.12")
    }
    assert first == {"": OLDEST_ONLY, "0.5.6": OLDEST_ONLY, "0.5.12": "new"}


ROW = {
    "id": "x",
    "class": "nccl_hang",
    "in": "message",
    "cause": "c",
    "source": "s",
    "excerpt": "e",
}
