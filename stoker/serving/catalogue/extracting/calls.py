"""Options that are written as calls of `add_argument`."""

from __future__ import annotations

import ast
from typing import Any, Dict, Iterator, List

from stoker.serving.catalogue.extracting.classes import Klass, Unresolved
from stoker.serving.catalogue.extracting.literals import Reader
from stoker.serving.catalogue.extracting.row import (
    Row,
    choices,
    converter,
    counted,
    dest_of,
    ending,
    literal,
    recorded,
    words,
)

Given = Dict[str, ast.expr]


def options(reader: Reader, function: ast.AST) -> Iterator[Row]:
    """Of every such call in `function`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _called(node) == "add_argument":
            names = [literal(reader, arg) for arg in node.args]
            given = {word.arg: word.value for word in node.keywords if word.arg}
            if names and str(names[0]).startswith("-"):
                yield option(reader, names, given)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def option(reader: Reader, names: List[str], given: Given) -> Row:
    """The row of one call."""
    said: Row = {
        "type": converter(given.get("type")),
        "choices": choices(reader, given.get("choices")),
        "default": literal(reader, given.get("default")),
        "const": literal(reader, given.get("const")),
        "required": literal(reader, given.get("required")) is True,
        **counted(literal(reader, given.get("nargs"))),
        **ending(words(given.get("help")), names),
    }
    said.update(acted(reader, names, given))
    return recorded(names, literal(reader, given.get("dest")) or dest_of(names), **said)


def acted(reader: Reader, names: List[str], given: Given) -> Row:
    """What the action makes of it, beyond what is usual."""
    action = given.get("action")
    if action is None:
        return {}
    name = action.value if isinstance(action, ast.Constant) else ast.unparse(action)
    if name in ("store_true", "store_false"):
        stored = name == "store_true"
        default = literal(reader, given["default"]) if "default" in given else not stored
        return {"kind": "switch", "type": "bool", "const": stored, "default": default}
    if str(name).endswith("BooleanOptionalAction"):
        return {"kind": "pair", "type": "bool"}
    return {**_words(reader, action, given), **_ended(reader, names, str(name), given)}


def _words(reader: Reader, action: ast.expr, given: Given) -> Row:
    """Of an action of SGLang's own: how many words it takes unless the call says it."""
    if "nargs" in given:
        return counted(literal(reader, given["nargs"]))
    try:
        klass = reader.value(action)
    except Unresolved:
        return {}
    nargs = _default_of(klass, "nargs") if isinstance(klass, Klass) else None
    return counted(literal(reader, nargs)) if nargs is not None else {}


def _default_of(klass: Klass, argument: str) -> ast.expr | None:
    for node in klass.node.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            named = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            pairs = zip(named, node.args.defaults)
            return {arg.arg: default for arg, default in pairs}.get(argument)
    return None


def _ended(reader: Reader, names: List[str], action: str, given: Given) -> Row:
    """Of SGLang's actions for options that end."""
    if "Deprecated" not in action:
        return {}
    error = words(given.get("error_message"))
    said: Row = {"deprecated": "by its action", "refused": bool(error)}
    successor: Any = literal(reader, given.get("new_flag"))
    if not successor and error:
        successor = ending(f"deprecated {error}", names).get("successor")
    if successor:
        said["successor"] = successor
    if "const_value" in given:
        said["const"] = literal(reader, given["const_value"])
    elif action.endswith("StoreTrueAction"):
        said.update({"type": "bool", "const": True})
        said["default"] = literal(reader, given["default"]) if "default" in given else False
    return said
