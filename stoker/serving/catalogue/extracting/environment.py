"""Names of environment variables that SGLang's source reads."""

from __future__ import annotations

import ast
import re
from typing import Dict, Iterator, Set, Tuple

from stoker.serving.catalogue.extracting.row import words
from stoker.serving.catalogue.extracting.source import Tree, Wheel

ENVIRON = "sglang/srt/environ.py"
_NAME = re.compile(r"^SGL(ANG)?_[A-Z0-9_]+$")
_QUOTED = re.compile(rb"""["'](SGL(?:ANG)?_[A-Z0-9_]+)["']""")
_COMMENT = re.compile(rb"^[^\"'\n]*#.*$", re.MULTILINE)
_BINARY = re.compile(rb"SGL(?:ANG)?_[A-Z0-9_]+")
_OPTION = re.compile(r"--[a-z0-9][a-z0-9-]*")
_TESTS = re.compile(r"(^|/)tests?/")


def variables(source: Tree | Wheel) -> Tuple[Set[str], Dict[str, str]]:
    """(read, ended): the names that are read, and ended name -> what to use (may be empty).

    A name that only forwards to another one is among the ended ones. A name whose end is all
    that the source speaks of is not among those read.
    """
    read: Set[str] = set()
    binary: Set[str] = set()
    for name in source.names():
        if name.endswith(".py") and name != ENVIRON and not _TESTS.search(name):
            read |= _quoted(source.read(name) or b"")
        elif name.endswith(".so"):
            binary |= {found.decode() for found in _BINARY.findall(source.read(name) or b"")}
    tree = ast.parse(source.read(ENVIRON) or b"")
    ended = dict(_ended(tree))
    read |= set(_declared(tree)) - set(ended)
    # Strings of a binary run into each other: `SGLANG_A` and `SGLANG_AX` are one name and a letter.
    read |= {name for name in binary if not any(name.startswith(known) for known in read)}
    return read, ended


def _quoted(text: bytes) -> Set[str]:
    if b"SGL" not in text:
        return set()
    return {found.decode() for found in _QUOTED.findall(_COMMENT.sub(b"", text))}


def _declared(tree: ast.Module) -> Iterator[str]:
    """Class attributes and literals of `environ.py`."""
    for node in ast.walk(tree):
        name = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        if isinstance(name, str) and _NAME.match(name):
            yield name


def _ended(tree: ast.Module) -> Iterator[Tuple[str, str]]:
    warners = dict(_warners(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            yield from _registry(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in warners:
            yield from _warned(node, warners[ast.unparse(node.func)])
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for old in _alias(node.value):
                yield old, ast.unparse(node.targets[0])


def _registry(node: ast.Dict) -> Iterator[Tuple[str, str]]:
    """`{"OLD": _DeprecatedEnv(...)}`, and `{"OLD": "NEW"}`."""
    for key, value in zip(node.keys, node.values):
        old = words(key)
        ends = isinstance(value, ast.Constant) or "Deprecated" in ast.unparse(value)
        if ends and _NAME.match(old):
            yield old, _successor(words(value))


def _warners(tree: ast.Module) -> Iterator[Tuple[str, int]]:
    """Functions such as `_print_deprecated_env`, and which argument is the old name.

    It came second in releases up to 0.5.9.
    """
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and "deprecated_env" in node.name:
            names = [arg.arg for arg in node.args.args]
            yield node.name, names.index("old_name") if "old_name" in names else 0


def _warned(node: ast.Call, old: int) -> Iterator[Tuple[str, str]]:
    given = [words(arg) for arg in node.args]
    if len(given) > old and _NAME.match(given[old]):
        yield given[old], _successor(" ".join(given[:old] + given[old + 1 :]))


def _alias(call: ast.Call) -> Iterator[str]:
    for word in call.keywords:
        if word.arg == "deprecated_name" and isinstance(word.value, ast.Constant):
            yield str(word.value.value)


def _successor(text: str) -> str:
    named = _NAME.match(text) or _OPTION.search(text)
    return named.group(0) if named else ""
