"""SGLang's modules as syntax trees, and a name followed over files to where it is written."""

from __future__ import annotations

import ast
import dataclasses
from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple

from stoker.serving.catalogue.extracting.source import Tree, Wheel

Imported = Tuple[str, Optional[str]]
"""(module, name in it); no name: the module itself."""
_FURTHEST = 8
"""Re-exports that are followed."""


@dataclass
class Module:
    """One file: what it writes down under which name."""

    name: str
    package: bool
    assigned: Dict[str, ast.expr] = field(default_factory=dict)
    classes: Dict[str, ast.ClassDef] = field(default_factory=dict)
    functions: Dict[str, ast.FunctionDef] = field(default_factory=dict)
    imported: Dict[str, Imported] = field(default_factory=dict)

    def written(self, name: str) -> ast.AST | None:
        """The expression, class or function of this name; None: it is not written here."""
        return self.assigned.get(name) or self.classes.get(name) or self.functions.get(name)


class Modules:
    """All of SGLang's modules, each parsed when first asked for."""

    def __init__(self, source: Tree | Wheel) -> None:
        self.source = source
        self._read: Dict[str, Optional[Module]] = {}

    def module(self, name: str) -> Module | None:
        """The module of this dotted name; None: there is none, or it is not SGLang's."""
        if name not in self._read:
            self._read[name] = self._parsed(name)
        return self._read[name]

    def _parsed(self, name: str) -> Module | None:
        for file in (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__init__.py"):
            text = self.source.read(file) if name.startswith("sglang") else None
            if text is not None:
                module = Module(name, file.endswith("__init__.py"))
                _fill(module, ast.parse(text))
                return module
        return None

    def find(self, module: Module, name: str) -> tuple[Module, ast.AST] | None:
        """Where `name`, as `module` uses it, is written; None: not in SGLang's source."""
        for _ in range(_FURTHEST):
            written = module.written(name)
            if written is not None:
                return module, written
            origin = module.imported.get(name)
            above = self.module(origin[0]) if origin else None
            if origin is None or above is None or origin[1] is None:
                return None
            module, name = above, origin[1]
        return None


def _fill(module: Module, tree: ast.Module) -> None:
    for node in tree.body:
        take(module, node)


def take(module: Module, node: ast.stmt) -> None:
    """Note what one statement of `module`, or of a function in it, gives a name to."""
    if isinstance(node, ast.ClassDef):
        module.classes[node.name] = node
    elif isinstance(node, ast.FunctionDef):
        module.functions[node.name] = node
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        module.assigned[node.targets[0].id] = node.value
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        module.assigned[node.target.id] = node.value
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            module.imported[alias.asname or alias.name] = (_origin(module, node), alias.name)
    elif isinstance(node, ast.If):
        for inner in node.body:  # `if TYPE_CHECKING:` and the like, where nothing else says it
            if isinstance(inner, ast.ImportFrom):
                take(module, inner)


def within(module: Module, function: ast.AST) -> Module:
    """The module as a function of it sees it: its own imports and names first."""
    seen = dataclasses.replace(
        module,
        assigned=dict(module.assigned),
        imported=dict(module.imported),
        classes=dict(module.classes),
        functions=dict(module.functions),
    )
    for node in getattr(function, "body", []):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.ImportFrom)):
            take(seen, node)
    return seen


def _origin(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    parts = parts[: len(parts) - node.level + (1 if module.package else 0)]
    return ".".join([*parts, *([node.module] if node.module else [])])
