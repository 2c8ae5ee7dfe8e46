"""Classes of SGLang's source, for what is written in their bodies."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from stoker.serving.catalogue.extracting.modules import Module

_ENUMS = {"Enum", "IntEnum", "StrEnum", "IntFlag", "Flag"}


class Unresolved(Exception):
    """Only the running program knows it."""


@dataclass(frozen=True)
class Klass:
    """A class, for what is written in its body."""

    module: Module
    node: ast.ClassDef

    @property
    def enum(self) -> bool:
        """Whether its attributes are members."""
        return any(ast.unparse(base).split(".")[-1] in _ENUMS for base in self.node.bases)

    def has(self, name: str) -> bool:
        """Whether its body gives this name a value."""
        try:
            return self.attribute(name) is not None
        except Unresolved:
            return False

    def attribute(self, name: str) -> ast.expr:
        """The expression that its body gives this name."""
        for node in self.node.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                return node.value
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and node.value:
                return node.value
        raise Unresolved(f"{self.node.name}.{name}")


@dataclass(frozen=True)
class Member:
    """A member of an enumeration."""

    name: str
    value: Any
