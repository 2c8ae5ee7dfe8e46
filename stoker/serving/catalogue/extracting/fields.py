"""Options that are written as annotated fields, `name: A[int, Arg(...)] = 1` (since 0.5.14)."""

from __future__ import annotations

import ast
from typing import Any, Dict, Iterator, List, Tuple

from stoker.serving.catalogue.extracting import calls
from stoker.serving.catalogue.extracting.classes import Klass
from stoker.serving.catalogue.extracting.literals import Reader
from stoker.serving.catalogue.extracting.modules import Modules
from stoker.serving.catalogue.extracting.row import Row, literal

SERVER_ARGS = "sglang.srt.server_args"
_FIELDS = "sglang/srt/arg_groups/fields/"
_ANNOTATED = ("A", "Annotated")
_NOT_HELP = ("NS", "Derived")
_TYPES = ("str", "int", "float")


def classes(modules: Modules) -> Iterator[Klass]:
    """Those whose fields are options: `ServerArgs`, and since 0.5.20 its namespaces."""
    server = modules.module(SERVER_ARGS)
    if server and "ServerArgs" in server.classes:
        yield Klass(server, server.classes["ServerArgs"])
    for name in modules.source.names():
        if name.startswith(_FIELDS) and name.endswith(".py"):
            module = modules.module(name[: -len(".py")].replace("/", "."))
            for node in (module.classes if module else {}).values():
                if module and any("_NS_PATH" in ast.unparse(line) for line in node.body):
                    yield Klass(module, node)


def options(modules: Modules, klass: Klass) -> Iterator[Row]:
    """Of every annotated field of a class."""
    for node in klass.node.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found = annotated(node.annotation)
            if found is not None:
                yield from _option(Reader(modules, klass.module), node, *found)


def annotated(node: ast.expr) -> Tuple[ast.expr, ast.expr] | None:
    """Type and description of `A[type, description]`; None: it is no option."""
    if not isinstance(node, ast.Subscript) or ast.unparse(node.value) not in _ANNOTATED:
        return None
    inside = node.slice
    if not isinstance(inside, ast.Tuple):
        return None
    for said in inside.elts[1:]:
        if not (isinstance(said, ast.Call) and ast.unparse(said.func) in _NOT_HELP):
            return inside.elts[0], said
    return None


def _option(reader: Reader, field: ast.AnnAssign, kind: ast.expr, said: ast.expr) -> Iterator[Row]:
    given: Dict[str, ast.expr] = {"help": said}
    if isinstance(said, ast.Call) and ast.unparse(said.func) == "Arg":
        given = {word.arg: word.value for word in said.keywords if word.arg}
        if said.args:
            given["help"] = said.args[0]
    if literal(reader, given.get("no_cli")) is True:
        return
    name = ast.unparse(field.target)
    first = literal(reader, given.get("cli_name")) or "--" + name.replace("_", "-")
    names = [first, *(literal(reader, given.get("aliases")) or [])]
    yield calls.option(reader, names, _as_call(reader, name, field.value, kind, given))


def _as_call(
    reader: Reader, name: str, default: ast.expr | None, kind: ast.expr, given: Dict[str, ast.expr]
) -> Dict[str, ast.expr]:
    """The arguments of the `add_argument` that SGLang makes of a field."""
    kept = ("help", "choices", "action", "nargs", "const", "required")
    made = {key: value for key, value in given.items() if key in kept}
    made["dest"] = ast.Constant(name)
    if default is not None:
        made["default"] = default
    extra = given.get("action_kwargs")
    if isinstance(extra, ast.Dict):
        pairs = zip(extra.keys, extra.values)
        made.update({literal(reader, key): value for key, value in pairs if key})
    if "action" not in given:
        made.update(_typed(reader, kind, made, given.get("type_parser")))
    return made


def _typed(
    reader: Reader, kind: ast.expr, made: Dict[str, ast.expr], parser: ast.expr | None
) -> Dict[str, ast.expr]:
    inner = unwrapped(reader, kind)
    outer = ast.unparse(inner.value) if isinstance(inner, ast.Subscript) else ast.unparse(inner)
    if outer == "Literal" and isinstance(inner, ast.Subscript):
        values = _elements(inner)
        of = type(literal(reader, values[0])).__name__
        allowed = made.get("choices", ast.List(values, ast.Load()))
        return {"choices": allowed, "type": parser or _scalar(of)}
    if outer in ("List", "list") and parser is None:
        of = ast.unparse(_elements(inner)[0]) if isinstance(inner, ast.Subscript) else "str"
        return {"nargs": made.get("nargs", ast.Constant("+")), "type": _scalar(of)}
    if outer == "bool":
        return {"action": ast.Constant("store_true")}
    required = "default" not in made and "required" not in made
    said: Dict[str, Any] = {"type": parser or _scalar(outer)}
    return {**said, "required": ast.Constant(True)} if required else said


def _scalar(name: str) -> ast.expr:
    return ast.Name(name if name in _TYPES else "str", ast.Load())


def _elements(node: ast.Subscript) -> List[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def unwrapped(reader: Reader, node: ast.expr) -> ast.expr:
    """A type without its `Optional`, and the alias that a name stands for."""
    if isinstance(node, ast.BinOp):
        sides = [side for side in (node.left, node.right) if ast.unparse(side) != "None"]
        return unwrapped(reader, sides[0]) if len(sides) == 1 else node
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("Optional", "Union"):
        inner = [one for one in _elements(node) if ast.unparse(one) != "None"]
        return unwrapped(reader, inner[0]) if len(inner) == 1 else node
    if isinstance(node, ast.Name):
        found = reader.modules.find(reader.module, node.id)
        if found and isinstance(found[1], ast.Subscript):
            return unwrapped(Reader(reader.modules, found[0]), found[1])
    return node
