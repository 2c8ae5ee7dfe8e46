"""A word of the command line as the value that SGLang's converter makes of it."""

import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)")
_SUFFIXES = {
    **{letter: 1000 ** (n + 1) for n, letter in enumerate("kMGT")},
    **{f"{letter}i": 1024 ** (n + 1) for n, letter in enumerate("KMGT")},
}


def _readable(word: str) -> int:
    """`8k` and `8Ki` besides plain numbers; a fraction only of the first kind."""
    found = _SUFFIXED.fullmatch(word.strip())
    if found is None:
        return int(word)
    number, suffix = found.groups()
    if "." in number and suffix.endswith("i"):
        raise ValueError(word)
    return int(Decimal(number) * _SUFFIXES[suffix])


def _number(word: str) -> float:
    value = float(word)
    if math.isnan(value):  # argparse takes it, and every comparison with it is false
        raise ValueError(word)
    return value


def _json(word: str) -> Any:
    return json.loads(word)


def _nullable(word: str) -> str | None:
    return None if word in ("", "None") else word


CONVERTERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        "str": str,
        "int": int,
        "float": _number,
        "json": _json,
        "json_list_type": _json,
        "parse_cuda_graph_config_arg": _json,
        "human_readable_int": _readable,
        "nullable_str": _nullable,
    }
)
"""Of the names that a catalogue gives as an option's type; any other one takes every word."""
WORDS: Mapping[str, str] = MappingProxyType(
    {
        "int": "a whole number",
        "float": "a number",
        "json": "JSON",
        "json_list_type": "JSON",
        "parse_cuda_graph_config_arg": "JSON",
        "human_readable_int": "a whole number, or one with k, M, G, Ki, Mi, Gi",
    }
)
"""What such an option wants, for a message."""


def converted(word: str, kind: str) -> Any:
    """The value of `word`. Raises ValueError where SGLang's converter refuses it."""
    return CONVERTERS.get(kind, str)(word)
