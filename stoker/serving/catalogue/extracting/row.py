"""One option as the catalogue records it: what is usual is left out."""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, List

from stoker.serving.catalogue.extracting.classes import Unresolved
from stoker.serving.catalogue.extracting.literals import Reader, plain

Row = Dict[str, Any]
USUAL: Row = {
    "kind": "value",
    "type": "str",
    "choices": None,
    "default": None,
    "const": None,
    "required": False,
    "optional_value": False,
    "fewest": 1,
    "most": None,
    "deprecated": "",
    "successor": "",
    "refused": False,
}
OF_A_SWITCH: Row = {"type": "bool", "default": False, "const": True}
"""What is usual of a switch besides."""
_DEPRECATED = re.compile(
    r"^\W*(note: --[a-z-]+ is deprecated|deprecated)|\bis deprecated (now|and)\b", re.IGNORECASE
)
_OPTION = re.compile(r"--[a-z0-9][a-z0-9-]*(\{[a-z,]+\})?[a-z-]*(=[a-z_0-9]+)?")


def recorded(names: List[str], dest: str, **said: Any) -> Row:
    """A row; what is as usual does not stand in it."""
    usual = {**USUAL, **(OF_A_SWITCH if said.get("kind") == "switch" else {})}
    row: Row = {"names": names, "dest": dest}
    return {**row, **{key: value for key, value in said.items() if value != usual[key]}}


def dest_of(names: List[str]) -> str:
    """As argparse names it after the first long spelling."""
    long = [name for name in names if name.startswith("--")]
    return (long or names)[0].lstrip("-").replace("-", "_")


def counted(nargs: Any) -> Row:
    """Kind and number of words that argparse's `nargs` asks for."""
    if nargs in ("+", "*"):
        return {"kind": "list", "fewest": 0 if nargs == "*" else 1}
    if nargs == "?":
        return {"optional_value": True}
    if nargs == 0:
        return {"kind": "switch", "type": "bool"}
    if isinstance(nargs, int):
        return {"kind": "list", "fewest": nargs, "most": nargs}
    return {}


def converter(node: ast.expr | None) -> str:
    """The name of what argparse's `type` converts with."""
    name = "str" if node is None else ast.unparse(node)
    return {"json.loads": "json"}.get(name, name.split(".")[-1])


def literal(reader: Reader, node: ast.expr | None) -> Any:
    """The value of an expression; None where only the running program knows it."""
    if node is None:
        return None
    try:
        return plain(reader.value(node))
    except (Unresolved, TypeError, RecursionError):
        return None


def choices(reader: Reader, node: ast.expr | None) -> List[str] | None:
    """The words that are allowed, as they are typed."""
    found = literal(reader, node)
    return [str(word) for word in found] if isinstance(found, (list, dict)) and found else None


def words(node: ast.expr | None) -> str:
    """The text of a help, as far as it stands there as such."""
    if node is None:
        return ""
    texts = [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return "".join(texts)


def ending(help_text: str, own: List[str]) -> Row:
    """What a help text says of the option's end: that it is deprecated, and what to use."""
    if not _DEPRECATED.search(help_text):
        return {}
    named = [found.group(0) for found in _OPTION.finditer(help_text)]
    others = [name for name in named if name.split("=")[0] not in own]
    return {"deprecated": "by its help", "successor": others[0] if others else ""}
