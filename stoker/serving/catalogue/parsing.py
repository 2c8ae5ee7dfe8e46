"""A command line read as SGLang's argparse reads it, but to its end: every problem, not the first.

Abbreviations are on, as SGLang leaves them. Options take words by argparse's rules: what does not
begin with a dash, or is a negative number, or has a space in it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stoker.serving.catalogue import recorded
from stoker.serving.catalogue.catalogue import Catalogue, Option
from stoker.serving.catalogue.converting import converted
from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.catalogue.problem import Kind, Problem
from stoker.serving.catalogue.spelling import Spellings, spellings

_NEGATIVE = re.compile(r"^-\d+$|^-\d*\.\d+$")

SAME = (
    ("tensor_parallel_size", "tp_size"),
    ("pipeline_parallel_size", "pp_size"),
    ("data_parallel_size", "dp_size"),
    ("expert_parallel_size", "ep_size"),
    ("attention_context_parallel_size", "attn_cp_size"),
    ("moe_data_parallel_size", "moe_dp_size"),
    ("mamba_scheduler_strategy", "mamba_radix_cache_strategy"),
    ("cuda_graph_max_bs", "cuda_graph_max_bs_decode"),
    ("cuda_graph_bs", "cuda_graph_bs_decode"),
)
"""Dests that changed their name between versions. Each value is given under both."""


def both(values: dict[str, Any]) -> dict[str, Any]:
    """The values, each under its old and its new name."""
    for old, new in SAME:
        for one, other in ((old, new), (new, old)):
            if one in values:
                values.setdefault(other, values[one])
    return values


def parse(words: Sequence[str], catalogue: Catalogue | None) -> tuple[Parsed, tuple[Problem, ...]]:
    """The values that the server would see, and what its parser would object to.

    Without a catalogue the newest recorded one tells which option takes what, and nothing is
    objected to: the words may be right for a version that nobody recorded. Never raises.
    """
    reading = _Reading(spellings(catalogue or recorded.nearest(recorded.versions()[-1])))
    reading.read(list(words))
    reading.close()
    # An old name shares its dest with the new one, and has another default or none.
    oldest_first = sorted(reading.spellings.options, key=lambda option: not option.deprecated)
    values = {option.dest: option.default for option in oldest_first}
    parsed = Parsed(both(values | reading.values), frozenset(both(dict(reading.seen))))
    return parsed, tuple(reading.problems) if catalogue else ()


@dataclass
class _Reading:
    spellings: Spellings
    values: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)
    """dest -> the word that gave it first."""

    def read(self, words: list[str]) -> None:
        end = words.index("--") if "--" in words else len(words)
        at, before = 0, None
        while at < end:
            word = words[at]
            at += 1
            if not self.is_option(word):
                self.problems.append(Problem("stray", word, before))
                continue
            taken = at
            while taken < end and not self.is_option(words[taken]):
                taken += 1
            before, used = self.take(word, words[at:taken])
            at += used
        self.problems += [Problem("stray", word) for word in words[end:]]

    def is_option(self, word: str) -> bool:
        """As argparse tells one from a value."""
        if not word.startswith("-") or len(word) == 1:
            return False
        if self.spellings.meant(word.split("=", 1)[0]):
            return True
        return not (_NEGATIVE.match(word) or " " in word)

    def take(self, word: str, following: list[str]) -> tuple[Option | None, int]:
        """Read one option; the option and how many of the following words are its own."""
        name, equals, explicit = word.partition("=")
        meant = self.spellings.meant(name)
        if len(meant) != 1:
            kind: Kind = "ambiguous" if meant else "unknown"
            self.problems.append(Problem(kind, name, None, explicit, tuple(meant)))
            # What follows an unknown option is objected to with it: one problem, not two.
            return None, len(following)
        option = self.spellings.exact[meant[0]]
        if name != meant[0]:
            self.problems.append(Problem("abbreviated", name, option, "", tuple(meant)))
        used = self.give(option, meant[0], [explicit] if equals else following, bool(equals))
        return option, 0 if equals else used

    def give(self, option: Option, name: str, words: list[str], explicit: bool) -> int:
        """Store what `words` give the option; how many of them it took."""
        if option.dest == "help":
            self.problems.append(Problem("help", name, option))
            return 0
        self.note(option, name)
        if option.kind in ("switch", "pair"):
            if explicit:
                self.problems.append(Problem("value_unwanted", name, option, words[0]))
            self.values[option.dest] = option.const if option.kind == "switch" else _side(name)
            return 0
        used = _count(option, len(words))
        if used is None:
            self.problems.append(Problem("value_missing", name, option, " ".join(words)))
            return len(words) if option.kind == "list" else 0
        self.store(option, name, words[:used])
        return used

    def store(self, option: Option, name: str, words: list[str]) -> None:
        values = []
        for word in words:
            try:
                value = converted(word, option.type)
            except (ValueError, ArithmeticError, RecursionError):
                self.problems.append(Problem("value_refused", name, option, word))
                return
            if option.choices is not None and str(value) not in option.choices:
                self.problems.append(Problem("value_refused", name, option, word))
                return
            values.append(value)
        if option.kind == "list":
            self.values[option.dest] = tuple(values)
        elif option.deprecated and option.const is not None:
            self.values[option.dest] = option.const
        else:
            self.values[option.dest] = values[0] if values else option.const

    def note(self, option: Option, name: str) -> None:
        if option.dest in self.seen:
            self.problems.append(Problem("twice", name, option, self.seen[option.dest]))
        self.seen[option.dest] = name
        if option.deprecated:
            self.problems.append(Problem("deprecated", name, option))

    def close(self) -> None:
        if "config" in self.seen:
            return  # a file of more options, which nobody has read
        self.problems += [
            Problem("required", option.names[0], option)
            for option in self.spellings.options
            if option.required and option.dest not in self.seen
        ]


def _side(name: str) -> bool:
    return not name.startswith("--no-")


def _count(option: Option, given: int) -> int | None:
    """How many of the given words it takes; None: too few."""
    if option.kind == "value":
        return min(given, 1) if option.optional_value or given else None
    if given < option.fewest:
        return None
    return given if option.most is None else min(given, option.most)
