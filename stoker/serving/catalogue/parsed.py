"""A command line as SGLang's parser of one version understands it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Parsed:
    """The values that the server would see."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """dest -> value: what was given, else the version's default. Only what could be understood."""
    given: frozenset[str] = frozenset()
    """The dests that the command line itself names."""

    def get(self, dest: str, default: Any = None) -> Any:
        """The value, `default` where it is neither given nor has one (or its default is None)."""
        value = self.values.get(dest)
        return default if value is None else value
