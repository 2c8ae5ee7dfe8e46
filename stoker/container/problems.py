"""What pydantic found wrong, as sentences an operator can act on."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

_UNITS = {"_mib": " of MiB", "_gib": " of GiB", "_s": " of seconds", "_mbps": " of MB a second"}
# Pydantic's words for which of several kinds it tried.
_KIND = re.compile(r"\[key\]|constrained-int|dict\[.*\]")
_KINDS = {
    "int": "is no whole number",
    "invalid": "is no text",
    "bool": "is neither True nor False",
    "string": "is no text",
    "tuple": "is no list",
    "list": "is no list",
    "model": "is no dictionary",
    "dict": "is no dictionary",
    "missing": "is missing",
}


def of(error: ValidationError, model: type[BaseModel], whose: Callable[[object], str]) -> list[str]:
    """One sentence a problem: `container.memory_mib: '8 GB' is no whole number of MiB`.

    `whose`: a key of the model -> the dictionary of the inventory that says it.
    """
    found = [(whose(next(iter(one["loc"]), "")), one) for one in error.errors()]
    return [f"{_place(place, one['loc'])}: {_told(one, model)}" for place, one in found]


def _place(place: str, loc: Iterable[Any]) -> str:
    return ".".join(
        [place, *(_printable(str(part)) for part in loc if not _KIND.fullmatch(str(part)))]
    )


def _told(one: Any, model: type[BaseModel]) -> str:
    kind = one["type"].partition("_")[0]
    if one["type"] == "extra_forbidden":
        return _unknown(str(one["loc"][-1]), model, one["loc"][:-1])
    if one["type"] == "missing":
        return _KINDS["missing"]
    return f"{_shown(one['input'])}{_sentence(one, kind)}"


def _sentence(one: Any, kind: str) -> str:
    if one["type"] == "value_error":
        return str(one["msg"].removeprefix("Value error, "))
    if one["type"] == "greater_than_equal":
        return f"is less than {one['ctx']['ge']}"
    if one["type"] == "string_too_long":
        return f"is longer than {one['ctx']['max_length']} characters"
    if one["type"] == "less_than_equal":
        return f"is more than {one['ctx']['le']}"
    sentence = _KINDS.get(kind)
    if sentence is None:
        return f"cannot be: {one['msg']}"
    key = str(next((part for part in reversed(one["loc"]) if isinstance(part, str)), ""))
    units = (text for end, text in _UNITS.items() if kind == "int" and key.endswith(end))
    return sentence + next(units, "")


def _unknown(key: str, model: type[BaseModel], loc: Iterable[Any]) -> str:
    """Never the value: it may be anything, a password for instance."""
    known = sorted(_fields(model, loc))
    known_text = ", ".join(known)
    near = difflib.get_close_matches(key, known, 1)
    return f"is no key of ours; {f'is {near[0]} meant?' if near else f'there are: {known_text}'}"


def _fields(model: type[BaseModel], loc: Iterable[Any]) -> Iterable[str]:
    for part in loc:
        if isinstance(part, str):
            model = next(_models(model.model_fields[part].annotation), model)
    return model.model_fields


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _models(inner)


def _shown(value: Any) -> str:
    if not isinstance(value, str | int | float) and value is not None:
        return ""
    text = repr(value)
    return f"{text if len(text) < 60 else text[:57] + '...'} "


def _printable(text: str) -> str:
    return text if text.isprintable() else repr(text)
