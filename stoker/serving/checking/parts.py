"""The parts of a check that may not be there yet."""

from importlib import import_module
from types import ModuleType
from typing import Any

from stoker.serving.catalogue.parsed import Parsed


def part(name: str, needs: str = "check") -> ModuleType | None:
    try:
        module = import_module(f"stoker.serving.{name}")
    except ModuleNotFoundError:
        return None
    return module if hasattr(module, needs) else None


def load(version: str) -> Any:
    module = part("catalogue.recorded", "load")
    return module.load(version) if module else None


def parse(words: Any, catalogue: Any) -> Any:
    module = part("catalogue.parsing", "parse")
    return module.parse(words, catalogue) if module else (Parsed(), ())
