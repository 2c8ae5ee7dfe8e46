"""The spellings of a catalogue's options, and what a beginning of one can mean."""

import bisect
from collections.abc import Mapping
from dataclasses import dataclass

from stoker.serving.catalogue.catalogue import Catalogue, Option

HELP = Option(names=("--help", "-h"), dest="help", kind="switch", type="bool")
"""argparse's own."""


@dataclass(frozen=True)
class Spellings:
    """Every name of every option."""

    options: tuple[Option, ...]
    exact: Mapping[str, Option]
    ordered: tuple[str, ...]
    """Sorted, for the names with the same beginning stand together."""

    def meant(self, name: str) -> tuple[str, ...]:
        """The full names that `name` can stand for: itself, else all that begin with it."""
        if name in self.exact:
            return (name,)
        if not name.startswith("--") or name == "--":
            return ()
        first = bisect.bisect_left(self.ordered, name)
        found = []
        for full in self.ordered[first:]:
            if not full.startswith(name):
                break
            found.append(full)
        return tuple(found)


def spellings(catalogue: Catalogue) -> Spellings:
    """Of one version's options and argparse's `--help`."""
    exact = {name: option for option in (*catalogue.options, HELP) for name in spelled(option)}
    return Spellings(catalogue.options, exact, tuple(sorted(exact)))


def spelled(option: Option) -> tuple[str, ...]:
    """Every spelling of an option, its `--no-` ones too."""
    if option.kind != "pair":
        return option.names
    turned = [f"--no-{name[2:]}" for name in option.names if name.startswith("--")]
    return (*option.names, *turned)
