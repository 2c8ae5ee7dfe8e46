"""A real argparse with the options of a catalogue, to hold our parser to."""

import argparse
import json
from typing import Any, NoReturn

from stoker.serving.catalogue.catalogue import Catalogue, Option
from stoker.serving.catalogue.converting import converted


class RefusedError(Exception):
    """The real parser's error."""


class Parser(argparse.ArgumentParser):
    """One that raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise RefusedError(message)


def parser(catalogue: Catalogue) -> Parser:
    """As SGLang of that version makes its own."""
    made = Parser(prog="sglang serve")
    for option in catalogue.options:
        made.add_argument(*option.names, **_words(option))
    return made


def _words(option: Option) -> dict[str, Any]:
    said: dict[str, Any] = {"dest": option.dest, "default": option.default}
    if option.kind == "pair":
        return said | {"action": argparse.BooleanOptionalAction}
    if option.kind == "switch":
        return said | {"action": "store_const", "const": option.const}
    said |= {"type": _converter(option), "required": option.required}
    if option.choices is not None:
        said["choices"] = [converted(word, option.type) for word in option.choices]
    if option.kind == "list":
        said["nargs"] = option.most or ("+" if option.fewest else "*")
    elif option.optional_value:
        said |= {"nargs": "?", "const": option.const}
    return said


def _converter(option: Option) -> Any:
    def convert(word: str) -> Any:
        return converted(word, option.type)

    return {"str": str, "json": json.loads}.get(option.type, convert)
