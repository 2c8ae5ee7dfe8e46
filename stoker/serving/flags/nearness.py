"""Which right name somebody meant who typed a wrong one."""

import difflib
import re
from collections.abc import Iterable

CLOSE = 0.72
"""From here on it is taken for the one that was meant; below, for nothing."""
_WORDS = re.compile(r"[-_]+")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` most likely means; None: none is like it.

    By letters (a slip of the finger) or by words in any order (another program's name for it).
    """
    scored = [(likeness(name, one), one) for one in known]
    best = max(scored, key=lambda pair: (pair[0], -len(pair[1]), pair[1]), default=(0.0, ""))
    return best[1] if best[0] >= CLOSE else None


def likeness(one: str, other: str) -> float:
    """1 for the same name, 0 for nothing in common."""
    return max(_letters(one, other), _words(one, other))


def _letters(one: str, other: str) -> float:
    matcher = difflib.SequenceMatcher(None, one.lstrip("-").lower(), other.lstrip("-").lower())
    if matcher.real_quick_ratio() < CLOSE or matcher.quick_ratio() < CLOSE:
        return 0.0
    return matcher.ratio()


def _words(one: str, other: str) -> float:
    """The share of words that both have; one word alone says too little."""
    mine = set(_WORDS.split(one.strip("-_").lower()))
    theirs = set(_WORDS.split(other.strip("-_").lower()))
    shared = mine & theirs
    return len(shared) / len(mine | theirs) if len(shared) > 1 else 0.0


def closest_value(value: str, choices: Iterable[str]) -> list[str]:
    """The choices that begin with `value`, else the one that is most like it."""
    known = list(choices)
    begin = [choice for choice in known if value and choice.lower().startswith(value.lower())]
    return begin or difflib.get_close_matches(value.lower(), known, n=1, cutoff=0.6)
