"""Every row owes an excerpt that the whole classifier brings to its class."""

import re

import pytest

from stoker.health.crash import classes, rows, rules
from stoker.health.crash.diagnosing import diagnose
from stoker.health.crash.verdict import CONFIDENCES, PHASES, Verdict
from tables import build, crash_rows

CAUSES = rows.of("crash_causes")
SOURCE = (build.HEALTH / "crash" / "data" / "crash_causes.yaml").read_text(encoding="utf-8")


def test_the_excerpt_of_every_row_comes_to_its_class() -> None:
    wrong = {}
    for row in CAUSES:
        found = diagnose([row["excerpt"].encode()])
        if problem := problem_of(found, row["class"]):
            wrong[row["id"]] = (problem, found)
    assert wrong == {}


def problem_of(found: Verdict, name: str) -> str:
    """What is wrong with an excerpt's verdict; empty: nothing."""
    if found.name != name:
        return f"is {found.name}, wants {name}"
    if found.phase not in PHASES or found.confidence not in CONFIDENCES:
        return "has a phase or a confidence that there is not"
    if not (found.cause and found.action):
        return "has no cause or no action"
    left = re.search(r"\{[a-z_]+\}|\[:", found.cause)
    return f"has a part that was not filled in: {left[0]}" if left else ""


def test_a_line_that_a_row_must_not_take_is_not_its() -> None:
    owed = [row for row in CAUSES if "not" in row]
    assert owed
    taken = [row["id"] for row in owed if diagnose([row["not"].encode()]).name == row["class"]]
    assert taken == []


def test_every_row_has_a_class() -> None:
    assert {row["class"] for row in CAUSES} <= classes.known().keys()


def test_the_rows_are_all_of_the_table() -> None:
    assert re.findall(r"^- id: (\S+)$", SOURCE, re.MULTILINE) == [row["id"] for row in CAUSES]


GOOD: dict[str, object] = {
    "id": "x",
    "class": "gpu_oom",
    "sglang": ">0.5.6,<0.5.18",
    "in": "message",
    "pattern": "CUDA out",
    "cause": "c",
    "source": "s",
    "excerpt": "CUDA out",
}


def problems(**change: object) -> list[str]:
    row = {key: value for key, value in {**GOOD, **change}.items() if value is not None}
    return list(crash_rows.problems_of_causes([row]))


def test_a_good_row_has_no_problem() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"colour": "red"}, "row 1: colour: unknown key"),
        ({"excerpt": None}, "row 1: excerpt: is None, wants str"),
        ({"excerpt": " "}, "row 1: excerpt: is empty"),
        ({"source": ""}, "row 1: source: is empty"),
        ({"sglang": None}, "row 1: sglang: is None, wants str"),
        ({"sglang": "0.5.12"}, "row 1: sglang: '0.5.12' is no bound such as >=0.5.12"),
        ({"in": "rumour"}, "row 1: in: is 'rumour', wants one of"),
        ({"phase": "later"}, "row 1: phase: is 'later', wants one of"),
        ({"role": "villain"}, "row 1: role: is 'villain', wants one of"),
        ({"pattern": "("}, "row 1: pattern: wants 4 literal letters"),
        ({"pattern": ".{0,9}out of memory"}, "row 1: pattern: wants 4 literal letters"),
        ({"pattern": "CUDA .*"}, "row 1: pattern: holds * or +"),
        ({"pattern": "CUDA (a|b)+"}, "row 1: pattern: holds * or +"),
        ({"pattern": None}, "row 1: pattern: is missing"),
        ({"names": ["ValueError"]}, "row 1: names: is for exceptions only"),
    ],
)
def test_a_wrong_row_is_told_by_place_and_key(change: dict[str, object], problem: str) -> None:
    assert any(said.startswith(problem) for said in problems(**change)), problems(**change)


def test_a_row_twice_is_told() -> None:
    assert list(crash_rows.problems_of_causes([GOOD, GOOD])) == ["id: x is there twice"]


@pytest.mark.parametrize(
    ("pattern", "begin"),
    [("Failed to", "Failed to"), (r"\[Errno 98\] x", "[Errno 98] x"), ("abc?d", "ab"), ("(a)", "")],
)
def test_the_letters_that_a_pattern_begins_with(pattern: str, begin: str) -> None:
    assert rules.literal(pattern) == begin
