"""What a name that a version does not know is called there.

Of SGLang's own names the recorded catalogues tell it: the last version that still knew the old one
named the new one. Names of other programs, and ends that SGLang was silent about, are rows.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stoker.serving import document
from stoker.serving.catalogue import recorded
from stoker.serving.catalogue.catalogue import Catalogue, Option
from stoker.serving.catalogue.spelling import spellings

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Rename:
    """One row of data/renames.yaml."""

    old: str
    source: str
    new: tuple[str, ...] = ()
    """The first that the version knows is the one; empty: there is none."""
    why: str = ""
    """What is different, or what to do where there is no new name."""
    of: str = ""
    """The program whose name it is; empty: SGLang's own."""


@functools.cache
def rows() -> Mapping[str, Rename]:
    """By the old name. Raises TypeError on an unknown or missing key."""
    found, _ = document.read((DATA / "renames.yaml").read_text(encoding="utf-8"))
    made = [Rename(**{**row, "new": tuple(row.get("new", ()))}) for row in found]
    return {row.old: row for row in made}


@functools.cache
def company() -> Mapping[str, tuple[str, ...]]:
    """Option -> those that belong to it, of data/company.yaml."""
    found, _ = document.read((DATA / "company.yaml").read_text(encoding="utf-8"))
    return {name: tuple(others) for row in found for name, others in row["with"].items()}


def named(successor: str) -> str:
    """The option in a successor such as `--cuda-graph-backend-prefill=disabled`."""
    return successor.split("=")[0].split(" ")[0]


def known_to(name: str, catalogue: Catalogue) -> bool:
    """Whether the version has it; `--cuda-graph-backend-{decode,prefill}` are two."""
    exact = spellings(catalogue).exact
    first, brace, rest = named(name).partition("{")
    if not brace:
        return name in exact or named(name) in exact
    parts, _, end = rest.partition("}")
    return all(f"{first}{part}{end}" in exact for part in parts.split(","))


def successor(name: str, catalogue: Catalogue) -> str:
    """What SGLang itself said to use instead, where this version knows that; else nothing."""
    seen = {name}
    while option := _last_deprecated(name):
        name = option.successor
        if not name or named(name) in seen:
            return ""
        if known_to(name, catalogue):
            return _with_value(name, catalogue)
        name = named(name)
        seen.add(name)
    return ""


def _with_value(name: str, catalogue: Catalogue) -> str:
    """The successor without its value where the version no longer takes that."""
    option = spellings(catalogue).exact.get(named(name))
    value = name.partition("=")[2]
    taken = option is None or option.choices is None or value in option.choices
    return name if not value or taken else named(name)


@functools.cache
def _last_deprecated(name: str) -> Option | None:
    """As the newest recorded version has it that names a successor."""
    known = (recorded.option(version, name) for version in reversed(recorded.knowing(name)))
    return next((option for option in known if option and option.successor), None)
