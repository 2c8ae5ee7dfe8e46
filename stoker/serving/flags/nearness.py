"""Which right name somebody meant who typed a wrong one."""

import difflib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

CLOSE = 0.72
"""From here on it is taken for the one that was meant; below, for nothing."""
_CONTAINED = 0.9
_WORDS = re.compile(r"[-_]+")

_ALIKE = 0.75
_SAME: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "fp16": ("float16",),
        "bf16": ("bfloat16",),
        "fp32": ("float32",),
        "fifo": ("fcfs",),
        "nvfp4": ("modelopt_fp4",),
        "qwen": ("qwen25", "qwen3"),
        "flash_attn": ("fa3",),
        "flash-attn": ("fa3",),
        "sdpa": ("torch_native",),
    }
)
"""What others call a value, and what SGLang calls it."""


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
    """The share of words that both have, most of it where all of one's are; a single word says
    too little."""
    mine = set(_WORDS.split(one.strip("-_").lower()))
    theirs = set(_WORDS.split(other.strip("-_").lower()))
    shared = mine & theirs
    if len(shared) < 2:
        return 0.0
    return _CONTAINED if mine < theirs else len(shared) / len(mine | theirs)


def closest_value(value: str, choices: Iterable[str]) -> list[str]:
    """The choices that mean the same, else those that begin with `value`, else the most alike."""
    known = list(choices)
    if same := [choice for choice in _SAME.get(value.lower(), ()) if choice in known]:
        return same
    begin = [choice for choice in known if value and choice.lower().startswith(value.lower())]
    return begin or difflib.get_close_matches(value.lower(), known, n=1, cutoff=_ALIKE)
