"""The verdict on a file as somebody wrote it, a flag set or a case: no host is asked."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from stoker.refused import Refused
from stoker.serving import document
from stoker.serving.checking import case
from stoker.serving.checking.asking import Facts
from stoker.serving.checking.judging import judge
from stoker.serving.checking.reading import Reading
from stoker.serving.checking.reason import Reason, Verdict

KEYS = ("sglang", "model", "flags", "placement")
"""A file with none of these is something else."""
SOMEWHERE = PurePosixPath("/opt")


def verdict(
    stem: str | None, text: str, facts: Facts | None = None, rules: Sequence[Any] = ()
) -> Verdict:
    """The verdict on this file's text.

    `stem` is the file's name without .yaml, None of standard input; `facts` stand in for a host's
    where it is a flag set. Raises `Refused` with what the file is instead.
    """
    texts, duplicates = document.read_texts(text)
    if case.is_case(texts):
        return _case(stem or "the case", texts, duplicates, rules)
    if not isinstance(texts, dict) or not any(key in texts for key in KEYS):
        raise Refused("is neither a flag set nor a case; docs/flagset.yaml shows a flag set")
    data, duplicates = document.read(text)
    return _flagset(stem or str(data.get("name")), data, duplicates, facts or Facts(), rules)


def facts(text: str) -> Facts:
    """The facts of a file that holds nothing else; `Refused` with all that is wrong there."""
    texts, duplicates = document.read_texts(text)
    if not isinstance(texts, dict):
        raise Refused("holds no keys; docs/checks.md shows a file of facts")
    reading = Reading(duplicates)
    found = case.facts(texts, reading)
    unknown = [f"{key}: unknown key" for key in (*_others(texts), *reading.unknown)]
    _refuse([*reading.problems, *unknown])
    return found


def _others(texts: dict[str, Any]) -> list[str]:
    return [key for key in texts if key not in case.FACTS]


def _case(name: str, texts: Any, duplicates: list[str], rules: Sequence[Any]) -> Verdict:
    reading = Reading(duplicates)
    question = case.asked(name, texts, reading)
    _refuse(reading.problems)
    found = judge(question, rules)
    unknown = tuple(f"{key}: nobody looks at this key" for key in reading.unknown)
    return Verdict(found.reasons, (*found.notes, *unknown))


def _refuse(problems: list[str]) -> None:
    if problems:
        raise Refused(f"says what cannot be: {'; '.join(problems)}")


def _flagset(
    stem: str, data: Any, duplicates: list[str], facts: Facts, rules: Sequence[Any]
) -> Verdict:
    # pydantic takes longer to import than a case to check.
    from stoker.serving.checking.served import asked, joined, together
    from stoker.serving.loading import validated
    from stoker.serving.placement import units_of

    flagset, problems = validated(data, stem, duplicates)
    if flagset is None or problems:
        return Verdict(tuple(map(_invalid, problems)))
    units = units_of(flagset, SOMEWHERE, SOMEWHERE)
    questions = together(units, [asked(unit, facts) for unit in units])
    return joined(judge(question, rules, flagset.waivers) for question in questions)


def _invalid(problem: str) -> Reason:
    name = "flag_abbreviated" if "is an abbreviation" in problem else "flagset_invalid"
    return Reason(name, "refuse", problem, "correct that key; docs/flagset.yaml shows them all")
