"""Our own rows as they are stored: JSON made of the YAML by `make tables`, read and examined there.

At every check the YAML would take three times as long as all the rest of the rows' work.
"""

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from stoker.serving.rules.rule import Algorithms, Condition, Example, Match, Rule


def dumped(rules: Iterable[Rule]) -> str:
    """The JSON text, a row a line so that a change reads as one."""
    rows = (json.dumps(_small(asdict(rule)), default=_plain, sort_keys=True) for rule in rules)
    return "[\n" + ",\n".join(rows) + "\n]\n"


def load(text: str) -> tuple[Rule, ...]:
    """The rows of such a text."""
    return tuple(map(_rule, json.loads(text)))


def _small(value: Any) -> Any:
    """Without what a row does not say."""
    if isinstance(value, dict):
        # An empty `algorithms` asks for a value that NCCL does not read: it says something.
        small = {key: _small(one) for key, one in value.items() if one is not None}
        return {k: one for k, one in small.items() if k == "algorithms" or one not in ("", [], {})}
    if isinstance(value, tuple):
        return [_small(one) for one in value]
    return sorted(value) if isinstance(value, frozenset) else value


def _plain(value: Any) -> str:
    assert isinstance(value, datetime.date)
    return value.isoformat()


def _rule(row: dict[str, Any]) -> Rule:
    recheck = row.get("recheck")
    told = {
        "when": _condition(row.get("when", {})),
        "fires": Example(**row.get("fires", {})),
        "silent": Example(**row.get("silent", {})),
        "recheck": datetime.date.fromisoformat(recheck) if recheck else None,
    }
    return Rule(**{**row, **told})


def _condition(row: Mapping[str, Any]) -> Condition:
    return Condition(
        sglang=row.get("sglang", ""),
        matches=tuple((name, _match(match)) for name, match in row.get("matches", ())),
        any=tuple(map(_condition, row.get("any", ()))),
    )


def _match(row: Mapping[str, Any]) -> Match:
    told = dict(row)
    for key in ("among", "none_of"):
        if key in told:
            told[key] = tuple(told[key])
    if "algorithms" in told:
        found = told["algorithms"]
        sets = {key: frozenset(found.get(key, ())) for key in ("only", "some")}
        told["algorithms"] = Algorithms(found.get("collective", ""), **sets)
    return Match(**told)
