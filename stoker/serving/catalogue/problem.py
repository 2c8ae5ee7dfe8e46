"""What SGLang's parser would say of one word of a command line."""

from dataclasses import dataclass
from typing import Literal

from stoker.serving.catalogue.catalogue import Option

Kind = Literal[
    "unknown",
    "stray",
    "ambiguous",
    "abbreviated",
    "value_refused",
    "value_missing",
    "value_unwanted",
    "required",
    "twice",
    "deprecated",
    "help",
]
"""unknown: no such option; stray: a word that belongs to none; value_unwanted: `--switch=x`."""


@dataclass(frozen=True)
class Problem:
    """One of them. All but abbreviated, twice and deprecated end the start."""

    kind: Kind
    word: str
    """The option as it was typed, or the stray word."""
    option: Option | None = None
    """The one that is meant, or for a stray word the one it stands behind."""
    value: str = ""
    names: tuple[str, ...] = ()
    """The full names that an abbreviation can mean."""

    @property
    def ends_start(self) -> bool:
        """Whether the parser refuses the command line."""
        if self.kind == "deprecated":
            return self.option is not None and self.option.refused
        return self.kind not in ("abbreviated", "twice")
