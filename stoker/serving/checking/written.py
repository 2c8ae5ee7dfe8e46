"""The verdict on a file as somebody wrote it, a flag set or a case: no host is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from stoker.refused import Refused
from stoker.serving import document
from stoker.serving.checking import case
from stoker.serving.checking.asking import Facts
from stoker.serving.checking.judging import judge
from stoker.serving.checking.reading import Reading
from stoker.serving.checking.reason import Reason, Verdict
from stoker.serving.rules.rule import Rule

if TYPE_CHECKING:
    from stoker.serving.flagset import FlagSet
    from stoker.serving.unit import Unit
    from stoker.serving.weights.directory import Directory
    from stoker.serving.weights.files import Draft

    Look = Callable[[str], Directory | None]

KEYS = ("sglang", "model", "flags", "placement")
"""A file with none of these is something else."""
SOMEWHERE = PurePosixPath("/opt")


def verdict(
    stem: str | None,
    text: str,
    facts: Facts | None = None,
    rows: Sequence[Rule] = (),
    look: Look = lambda path: None,
) -> Verdict:
    """The verdict on this file's text.

    `stem` is the file's name without .yaml, None of standard input. Of a flag set `facts` stand in
    for a host's, and `look` for what lies in a model's directory. Raises `Refused` with what the
    file is instead.
    """
    texts, duplicates = document.read_texts(text)
    if case.is_case(texts):
        return _case(stem or "the case", texts, duplicates, rows)
    if not isinstance(texts, dict) or not any(key in texts for key in KEYS):
        raise Refused("is neither a flag set nor a case; docs/flagset.yaml shows a flag set")
    # pydantic takes longer to import than a case to check.
    from stoker.serving.loading import validated

    data, duplicates = document.read(text)
    name = stem or str(data.get("name"))
    flagset, problems = validated(data, name, duplicates)
    if problems:
        # What is wrong in one place hides nothing that is wrong in another.
        flagset, _ = validated(_sound(data, problems), name)
    found = of_flagset(flagset, facts or Facts(), rows, look) if flagset else Verdict()
    return Verdict((*map(_invalid, problems), *found.reasons), found.notes)


def of_flagset(
    flagset: FlagSet,
    facts: Facts,
    rows: Sequence[Rule] = (),
    look: Look = lambda path: None,
) -> Verdict:
    """The verdict on all its units, the same of several once.

    `facts` are a host's; `look` says what lies at a path, None: it cannot be looked at.
    """
    from stoker.serving.checking.served import asked, joined, together
    from stoker.serving.placement import units_of

    units = units_of(flagset, SOMEWHERE, SOMEWHERE)
    known = _looked(facts, flagset, units[0], look)
    questions = together(units, [asked(unit, known) for unit in units])
    return joined(judge(question, rows, flagset.waivers) for question in questions)


def facts(text: str) -> Facts:
    """The facts of a file that holds nothing else; `Refused` with all that is wrong there."""
    texts, duplicates = document.read_texts(text)
    if not isinstance(texts, dict):
        raise Refused("holds no keys; docs/checks.md shows a file of facts")
    reading = Reading(duplicates)
    found = case.facts(texts, reading)
    unknown = [key for key in texts if key not in case.FACTS]
    _refuse([*reading.problems, *(f"{key}: unknown key" for key in (*unknown, *reading.unknown))])
    return found


def _case(name: str, texts: Any, duplicates: list[str], rows: Sequence[Rule]) -> Verdict:
    reading = Reading(duplicates)
    question = case.asked(name, texts, reading)
    waivers = case.waivers(texts, reading)
    _refuse(reading.problems)
    found = judge(question, rows, waivers)
    unknown = tuple(f"{key}: nobody looks at this key" for key in reading.unknown)
    return Verdict(found.reasons, (*found.notes, *unknown))


def _looked(facts: Facts, flagset: FlagSet, unit: Unit, look: Look) -> Facts:
    """The same with what lies in the unit's directories, where nobody has said it."""
    from stoker.serving.checking.surroundings import model_of

    model = None if facts.files else look(model_of(unit) or "")
    return replace(
        facts,
        files=model.files if model else facts.files,
        model=facts.model or (model.model if model else None),
        draft=facts.draft or _draft(flagset, unit, look),
    )


def _draft(flagset: FlagSet, unit: Unit, look: Look) -> Draft | None:
    """The draft that lies there; of one that is yet to be copied under other names, the copy."""
    from stoker.serving.checking.surroundings import draft_of
    from stoker.serving.weights.renaming import renamed

    path = draft_of(unit) or ""
    there = look(path)
    if there or not flagset.draft:
        return there.draft if there else None
    source = look(flagset.draft.renamed_from)
    return renamed(source.draft, path) if source else None


def _sound(data: dict[str, Any], problems: list[str]) -> dict[str, Any]:
    """The file's data without the flags and variables that it may not name, or in full."""
    from stoker.serving.flagset import ABBREVIATED

    left = {key: dict(data[key]) for key in ("flags", "env") if isinstance(data.get(key), dict)}
    for problem in problems:
        section, _, key = problem.partition(":")[0].partition(".")
        value = left.get(section, {}).pop(key, None)
        if section == "flags" and key in ABBREVIATED:
            left[section].setdefault(ABBREVIATED[key], value)
    return {**data, **left}


def _refuse(problems: list[str]) -> None:
    if problems:
        raise Refused(f"says what cannot be: {'; '.join(problems)}")


def _invalid(problem: str) -> Reason:
    name = "flag_abbreviated" if "is an abbreviation" in problem else "flagset_invalid"
    return Reason(name, "refuse", problem, "correct that key; docs/flagset.yaml shows them all")
