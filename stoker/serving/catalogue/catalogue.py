"""The options of one SGLang version, and the environment variables it reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["value", "list", "switch", "pair"]
"""value: takes one word; list: several; switch: none; pair: none, and has a `--no-` form too."""


@dataclass(frozen=True)
class Option:
    """One option as argparse knows it."""

    names: tuple[str, ...]
    """Every spelling, `--tp-size` and `--tensor-parallel-size`; the first is the one to use."""
    dest: str
    kind: Kind
    type: str = "str"
    """str, int, float, bool, json, or the name of SGLang's own converter."""
    choices: tuple[str, ...] | None = None
    """None: any value, or choices that only the running program knows."""
    default: object = None
    """None also where only the running program knows it."""
    const: object = None
    """What it stores when no word comes with it; of a switch, usually True."""
    required: bool = False
    optional_value: bool = False
    """`nargs="?"`: the word may be left out."""
    fewest: int = 1
    """Of a list: how many words it must have, 0 for `nargs="*"`."""
    most: int | None = None
    """Of a list: how many it may have; None: any number."""
    deprecated: str = ""
    """What its help or its own warning says of its end; empty: it is not deprecated."""
    successor: str = ""
    """The option to use instead, with its dashes, where SGLang names one."""
    refused: bool = False
    """The parser knows it only to refuse it."""


@dataclass(frozen=True)
class Catalogue:
    """Everything one version's parser and environment know."""

    sglang: str
    options: tuple[Option, ...]
    env: frozenset[str] = field(default_factory=frozenset)
    """Names of environment variables its source reads that are its own (`SGLANG_*`, `SGL_*`)."""
    env_ended: Mapping[str, str] = field(default_factory=dict)
    """Variables it only warns of -> what to use: a variable (it takes the value), an option,
    or nothing."""
    digest: str = ""
    """SHA-256 of what was recorded: two that agree are the same catalogue."""
