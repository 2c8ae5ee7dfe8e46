"""A command line as it may be shown and kept: short, without secrets or control characters."""

from __future__ import annotations

import re
import shlex
from typing import Sequence

LONGEST = 400
"""Characters of a command line; the rest is `...`."""

_SECRET = r"(?:api|admin|access|auth|private)?[-_]?(?:key|token|secret|password|passwd|passphrase)"
# argparse takes `--ap` for `--api-key` and `--ad` for `--admin-api-key`.
_OPTION = re.compile(rf"--?(?:(?:ap|ad)[a-z_-]*|[a-z_-]*{_SECRET})", re.IGNORECASE)
_VARIABLE = re.compile(rf"[A-Za-z0-9_.-]*{_SECRET}s?", re.IGNORECASE)
_JSON = re.compile(rf'("[^"]*{_SECRET}"\s*:\s*)"(?:[^"\\]|\\.)*"?', re.IGNORECASE)
_HEADER = re.compile(
    r"((?:authorization|x-api-key)\s*:\s*(?:(?:bearer|basic)\s+)?|\bbearer\s+)\S+", re.IGNORECASE
)
_ADDRESS = re.compile(r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{0,30}://)[^/@\s]+@", re.IGNORECASE)
_NAMED = re.compile(
    # A bare `key:` is of prose ("Missing key: model.layers.0").
    rf"((?<![A-Za-z0-9])(?!keys?:)[A-Za-z0-9_.-]{{0,40}}{_SECRET}s?(?:=|: ?)['\"]?)"
    r"(?=[^\s'\",)]{0,200}[0-9_-])(?!None\b)[^\s'\",)]{6,200}",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    rf"((?<![A-Za-z0-9_.-])--?[a-z_-]{{0,40}}{_SECRET}s? {{1,4}}['\"]?)"
    r"(?!(?:is|to|and|or|must|not|for|was|with|in|has|can|None)\b)[^\s'\",)-][^\s'\",)]{0,200}",
    re.IGNORECASE,
)
_COUNT = re.compile(r"tokens?(?:=|: ?| {1,4})$", re.IGNORECASE)
_TOKEN = re.compile(r"\b(?:hf_|sk-|ghp_|glpat-|xox[bp]-)[A-Za-z0-9_-]{8,200}")
_HIDDEN = "***"


def command(words: Sequence[str]) -> str:
    """The words as one line. A value that a name makes a secret is `***`."""
    shown = [_shown(word, before) for word, before in zip(words, ["", *words])]
    line = re.sub(r"[^\x20-\x7e\u00a0-\uffff]", "?", " ".join(shown))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 4]} ..."


def _shown(word: str, before: str) -> str:
    bare = _word(word, before)
    if bare != word:
        return bare
    inner = _script(word) if re.search(r"\s", word) else word
    inner = _JSON.sub(rf'\1"{_HIDDEN}"', _HEADER.sub(rf"\1{_HIDDEN}", inner))
    return shlex.quote(_ADDRESS.sub(rf"\1{_HIDDEN}@", inner)) if word else "''"


def _word(word: str, before: str) -> str:
    if _OPTION.fullmatch(before):
        return _HIDDEN
    name, equals, _ = word.partition("=")
    if equals and (_OPTION.fullmatch(name) or _VARIABLE.fullmatch(name)):
        return f"{name}={_HIDDEN}"
    return word


def _script(text: str) -> str:
    """A word that is a command line itself, as of `sh -c`."""
    parts = re.split(r"(\s+)", text)
    before, shown = "", []
    for at, part in enumerate(parts):
        shown.append(part if at % 2 else _word(part, before))
        before = before if at % 2 else part
    return "".join(shown)


def text(line: str) -> str:
    """A line of a log: values that a name makes a secret, and tokens of known forms, are `***`."""
    line = _JSON.sub(rf'\1"{_HIDDEN}"', _HEADER.sub(rf"\1{_HIDDEN}", line))
    line = _ADDRESS.sub(rf"\1{_HIDDEN}@", line)
    line = _GIVEN.sub(_named, _NAMED.sub(_named, line))
    return _TOKEN.sub(_HIDDEN, re.sub(r"[^\x20-\x7e\u00a0-\uffff]", "?", line))


def _named(found: re.Match[str]) -> str:
    """A number of tokens is none of those that let somebody in."""
    name = found[1]
    value = found[0][len(name) :]
    counted = _COUNT.search(name[-9:]) and value.rstrip(".;]").isdecimal()
    return found[0] if counted else f"{name}{_HIDDEN}"
