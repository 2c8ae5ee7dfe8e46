"""Facts as somebody writes them: text into our dataclasses, and every wrong one in words."""

import math
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

_YES, _NO = ("true", "yes", "on"), ("false", "no", "off")
_SHOWN = 40
_Record = TypeVar("_Record")


@dataclass
class Reading:
    """What was wrong and what nobody knows, while a file is read."""

    problems: list[str] = field(default_factory=list)
    """`gpu.count: 'many' is no whole number`."""
    unknown: list[str] = field(default_factory=list)
    """Keys that nothing looks at: `gpu.colour`."""

    def mapping(self, value: Any, place: str) -> Mapping[str, Any]:
        """The value if it is one; of nothing, nothing."""
        if isinstance(value, dict):
            return value
        if value is not None:
            self.problems.append(f"{place}: is no mapping of keys; see docs/checks.md")
        return {}

    def record(self, kind: type[_Record], value: Any, place: str, *others: str) -> _Record:
        """The dataclass `kind` filled from a mapping; what is absent or null keeps its default.

        `others` are keys of the same mapping that somebody else reads.
        """
        data, known = self.mapping(value, place), typing.get_type_hints(kind)
        self.unknown += [f"{place}.{key}" for key in data if key not in {*known, *others}]
        found: dict[str, Any] = {}
        for one in fields(kind):  # type: ignore[arg-type]
            if data.get(one.name) is not None and (reader := _READERS.get(known[one.name])):
                self._fill(found, one.name, reader, data[one.name], place)
        return kind(**found)

    def words(self, value: Any, place: str) -> tuple[str, ...]:
        """A list of words, as they are written."""
        if not isinstance(value, list):
            self.problems.append(f"{place}: is no list of words; write one a line, with a dash")
            return ()
        for number, word in enumerate(value, 1):
            if not isinstance(word, str):
                self.problems.append(f"{place}: its word {number} is no text; quote it")
        return tuple(word for word in value if isinstance(word, str))

    def _fill(
        self, found: dict[str, Any], key: str, reader: Callable[[Any], Any], value: Any, place: str
    ) -> None:
        try:
            found[key] = reader(value)
        except ValueError as error:
            self.problems.append(f"{place}.{key}: {error}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("is no text")
    return value


def _number(value: Any) -> float:
    """At least 0; infinity where somebody says that there is no limit."""
    try:
        number = float(_text(value).removeprefix("."))
    except ValueError:
        raise ValueError(f"{_shown(value)} is no number") from None
    if math.isnan(number) or number < 0:
        raise ValueError(f"{_shown(value)} is no number from 0 up")
    return number


def _integer(value: Any) -> int:
    if not isinstance(value, str) or not re.fullmatch(r"\d{1,15}(\.0*)?", value):
        raise ValueError(f"{_shown(value)} is no whole number from 0 up")
    return int(value.partition(".")[0])


def _switch(value: Any) -> bool:
    if not isinstance(value, str) or value.lower() not in (*_YES, *_NO):
        raise ValueError(f"{_shown(value)} is neither true nor false")
    return value.lower() in _YES


def _list(one: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError("is no list")
        return tuple(map(one, value))

    return read


_READERS: dict[Any, Callable[[Any], Any]] = {
    str: _text,
    str | None: _text,
    int: _integer,
    int | None: _integer,
    float: _number,
    float | None: _number,
    bool: _switch,
    bool | None: _switch,
    tuple[str, ...]: _list(_text),
    tuple[str, ...] | None: _list(_text),
    tuple[int, ...]: _list(_integer),
}
