"""The parts of a check that may not be there yet."""

from importlib import import_module
from types import ModuleType
from typing import Any

from stoker.serving.catalogue.parsed import Parsed


def part(name: str) -> ModuleType | None:
    try:
        return import_module(f"stoker.serving.{name}")
    except ModuleNotFoundError:
        return None


def load(version: str) -> Any:
    module = part("catalogue.recorded")
    return module.load(version) if module else None


def parse(words: Any, catalogue: Any) -> Any:
    module = part("catalogue.parsing")
    return module.parse(words, catalogue) if module else (Parsed(), ())
