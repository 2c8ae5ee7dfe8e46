"""The rows of `crash_causes.yaml`, ready to be tried on what a log says.

A row is tried only on what it is about: a log message by its first four letters, an exception by
its name, a kernel line, NCCL's warning. All patterns are anchored at the beginning.

A row for other versions than the one that is known is tried last and believed least, not left out:
the version may be that of an upgrade after the log was written, or a fork's, and a text that is
there was printed by something.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stoker.health.crash import rows
from stoker.health.crash.raised import Raised
from stoker.health.crash.rule import VOICES, Rule, made

KEY = 4
"""Letters that a message row begins with, literally: what it is found by."""
_WRAPPED = re.compile(r"Capture .{0,40}graph failed: ?")
_ELSEWHERE = re.compile(r"\[address=[^\]]{1,80}, pid=\d{1,10}\] ")
"""What xoscar (Xinference) puts before the message of another process's exception."""
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")


@dataclass(frozen=True)
class Hit:
    """A rule that fits, and where."""

    rule: Rule
    number: int
    text: str
    found: dict[str, str]


def of_message(text: str, version: str = "") -> Iterator[tuple[Rule, dict[str, str]]]:
    """Rules that fit what a message of the program says; `version`: SGLang's, if known."""
    return _fitting(_ordered(_messages().get(text[:KEY], ()), version), text)


def of_voice(voice: str, text: str) -> Iterator[tuple[Rule, dict[str, str]]]:
    """Rules that fit a kernel line, a warning of NCCL's, ..."""
    return _fitting(_by_voice()[voice], text)


def of_exception(raised: Raised, phase: str, version: str = "") -> Hit | None:
    """The first rule that fits; None: no row knows it."""
    number, said = next(((n, text) for n, text in raised.said if text), raised.said[0])
    elsewhere = _ELSEWHERE.match(said)
    said = said[elsewhere.end() :] if elsewhere else said
    wrapped = _WRAPPED.match(said)
    said = said[wrapped.end() :] if wrapped else said
    for rule in _ordered(_by_voice()["exception"], version):
        if rule.names and raised.name not in rule.names and not (wrapped and rule.pattern):
            continue
        if rule.phases and phase not in rule.phases:
            continue
        if rule.frame and not any(rule.frame.search(frame) for frame in raised.frames):
            continue
        if rule.raised_in and not rule.raised_in.search((raised.frames or [""])[-1]):
            continue
        if rule.source and not rule.source.match(raised.source):
            continue
        if rule.detail:
            hit = _detail(rule, raised)
            if hit:
                return hit
            continue
        match = rule.pattern.match(said) if rule.pattern else None
        if match or not rule.pattern:
            groups = _groups(match)
            if rule.source and raised.source_number:
                return Hit(rule, raised.source_number, raised.source, groups)
            return Hit(rule, number, said, groups)
    return None


def wrapped(raised: Raised) -> bool:
    """Whether it only passes on, in its own words, what failed in a capture of graphs."""
    return any(_WRAPPED.match(text) for _, text in raised.said[:2])


def letters() -> frozenset[str]:
    """What a message that some rule is about begins with."""
    return frozenset(_messages())


def literal(pattern: str) -> str:
    """The letters that every text which fits begins with."""
    found, at = "", 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern) and not pattern[at + 1].isalnum():
            char, at = pattern[at + 1], at + 1
        elif _SPECIAL.match(char):
            break
        at += 1
        if at < len(pattern) and pattern[at] in "?*{":
            break
        found += char
    return found


def _ordered(rules: tuple[Rule, ...], version: str) -> Iterable[Rule]:
    """Those for other versions than that one come last."""
    if not version:
        return rules
    return sorted(rules, key=lambda rule: not rule.prints(version))


def _fitting(rules: Iterable[Rule], text: str) -> Iterator[tuple[Rule, dict[str, str]]]:
    for rule in rules:
        match = rule.pattern.match(text) if rule.pattern else None
        if match:
            yield rule, _groups(match)


def _detail(rule: Rule, raised: Raised) -> Hit | None:
    assert rule.detail is not None
    for number, text in raised.said:
        match = rule.detail.match(text)
        if match:
            return Hit(rule, number, text, _groups(match))
    return None


def _groups(match: re.Match[str] | None) -> dict[str, str]:
    return (
        {key: value.strip() for key, value in match.groupdict().items() if value} if match else {}
    )


@functools.lru_cache(maxsize=None)
def _messages() -> dict[str, tuple[Rule, ...]]:
    found: dict[str, tuple[Rule, ...]] = {}
    for rule in _by_voice()["message"]:
        assert rule.pattern is not None
        key = literal(rule.pattern.pattern)[:KEY]
        found[key] = (*found.get(key, ()), rule)
    return found


@functools.lru_cache(maxsize=None)
def _by_voice() -> dict[str, tuple[Rule, ...]]:
    every = [made(row) for row in rows.of("crash_causes")]
    return {voice: tuple(rule for rule in every if rule.voice == voice) for voice in VOICES}
