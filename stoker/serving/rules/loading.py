"""The known-bad rows: our own, and the operators' beside them."""

import functools
from collections import Counter
from pathlib import Path
from typing import Any

from stoker.refused import Refused
from stoker.serving import document
from stoker.serving.rules import stored
from stoker.serving.rules.keys import Problems
from stoker.serving.rules.reading import rule
from stoker.serving.rules.rule import Rule

KNOWN_BAD = Path("group_data/known_bad.yaml")
"""The operators' own rows, in a site's directory."""
_STORED = Path(__file__).parent / "data" / "known_bad.json"


def load(operators_file: Path | None = None) -> tuple[Rule, ...]:
    """Our rows and those of the operators' file, `KNOWN_BAD` of their site; a row of theirs
    replaces ours of the same id.

    A file that is not there has no rows. Raises `Refused` with every problem, one a line.
    """
    rules = {one.id: one for one in _own()}
    if operators_file and operators_file.is_file():
        rules |= {one.id: one for one in file_of(operators_file)}
    return tuple(rules.values())


@functools.cache
def _own() -> tuple[Rule, ...]:
    return stored.load(_STORED.read_text("utf-8"))


def file_of(path: Path) -> tuple[Rule, ...]:
    """The rows of a YAML file, each examined; raises `Refused` with every problem."""
    try:
        return _rows(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Refused(f"cannot read {path}: is not UTF-8: byte {error.start}") from None


def _rows(text: str, origin: str) -> tuple[Rule, ...]:
    try:
        data, problems = document.read(text)
    except Refused as error:
        raise Refused(f"cannot load known-bad rows: {origin}: {error}") from None
    rules = _read(data, origin, problems)
    if problems:
        lines = [f"{origin}: {problem}" for problem in problems]
        raise Refused("\n".join(["cannot load known-bad rows; correct these keys:", *lines]))
    return rules


def _read(data: Any, origin: str, problems: Problems) -> tuple[Rule, ...]:
    if data is None:
        return ()
    if not isinstance(data, list):
        problems.append("holds no list of rows; see docs/checks.md")
        return ()
    found = [rule(row, f"row {n}", origin, problems) for n, row in enumerate(data, start=1)]
    rules = tuple(one for one in found if one)
    twice = [name for name, times in Counter(one.id for one in rules).items() if times > 1]
    problems += [f"{name}: is the id of two rows" for name in twice]
    return rules
