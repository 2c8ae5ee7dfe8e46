"""Values of a command line as numbers: a parser that knew no types leaves text."""

from collections.abc import Mapping
from typing import Any

from stoker.serving.catalogue.parsed import Parsed


def whole(parsed: Parsed, *dests: str) -> int | None:
    """The first of these options that has a whole number; None: none has."""
    found = (_number(parsed.values.get(dest)) for dest in dests)
    return next((int(value) for value in found if value is not None), None)


def real(parsed: Parsed, dest: str) -> float | None:
    """The number; None: not given, or no number."""
    return _number(parsed.values.get(dest))


def on(parsed: Parsed, *dests: str) -> bool:
    """Whether any of these switches is set."""
    return any(
        parsed.values.get(dest) not in (None, False, 0, "", "false", "False") for dest in dests
    )


def text(parsed: Parsed, dest: str, default: str = "") -> str:
    """The value as text, lower case."""
    value = parsed.values.get(dest)
    return default if value is None else str(value).lower()


def several(parsed: Parsed, *dests: str) -> tuple[int, ...]:
    """The whole numbers of a list option; empty: not given."""
    for dest in dests:
        value = parsed.values.get(dest)
        if isinstance(value, str):
            value = value.split()
        if isinstance(value, list | tuple) and value:
            return tuple(int(number) for item in value if (number := _number(item)) is not None)
    return ()


def env_on(env: Mapping[str, str], name: str) -> bool:
    """Whether SGLang would read this variable as true."""
    return env.get(name, "").strip().lower() in ("1", "true", "yes", "on", "y")


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
