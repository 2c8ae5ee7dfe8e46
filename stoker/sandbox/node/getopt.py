"""Stand-in: Perl's Getopt::Long as PVE::JSONSchema::get_options uses it.

`-opt` and `--opt` alike, `--opt v` and `--opt=v`, unique abbreviations, options anywhere before
`--`. A boolean takes a value where the next word does not look like an option, so
`--skiplock 200` eats the 200, as the real one does.
"""

from __future__ import annotations

import re
import sys
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from .died import BadRequest

OPTION = re.compile(r"--?([^=]+)(?:=(.*))?$", re.DOTALL)


def parse(
    words: Sequence[str], known: Mapping[str, bool]
) -> Tuple[Dict[str, List[str]], List[str]]:
    """(options with all their values, remaining words); `known` maps a name to "is boolean".

    An option that cannot be parsed is named on stderr, all of them, and then `400 unable to
    parse option` is raised.
    """
    options: Dict[str, List[str]] = {}
    rest: List[str] = []
    waiting = list(words)
    complaints: List[str] = []
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            rest += waiting
            break
        match = OPTION.match(word) if word.startswith("-") else None
        if match:
            complaints += _take(match.group(1), match.group(2), waiting, known, options)
        else:
            rest.append(word)
    if complaints:
        print("\n".join(complaints), file=sys.stderr)
        # Both 2 and 255 were measured: 2 for `--bad`, 255 for `--help`.
        raise BadRequest("unable to parse option", 255 if "help" in complaints[0] else 2)
    return options, rest


def _take(
    asked: str,
    value: Optional[str],
    waiting: List[str],
    known: Mapping[str, bool],
    options: Dict[str, List[str]],
) -> List[str]:
    """Add one option to `options`, or give what is wrong with it."""
    name, problem = _resolve(asked, known)
    if problem:
        return [problem]
    if value is None:
        value = _value_after(waiting, known[name])
    if value is None:
        return [f"Option {name} requires an argument"]
    options.setdefault(name, []).append(value)
    return []


def _resolve(asked: str, known: Mapping[str, bool]) -> Tuple[str, str]:
    name = asked.lower()
    if name in known:
        return name, ""
    candidates = sorted(option for option in known if option.startswith(name))
    if len(candidates) == 1:
        return candidates[0], ""
    if candidates:
        return "", f"Option {asked} is ambiguous ({', '.join(candidates)})"
    return "", f"Unknown option: {asked}"


def _value_after(waiting: List[str], boolean: bool) -> Optional[str]:
    if boolean:
        looks_like_option = not waiting or re.match(r"--?.", waiting[0], re.DOTALL)
        return "1" if looks_like_option else waiting.pop(0)
    if not waiting or waiting[0] == "--":
        return None
    return waiting.pop(0)
