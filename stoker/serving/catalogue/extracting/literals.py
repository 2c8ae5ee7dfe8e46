"""The value of an expression, as far as the source alone tells it."""

from __future__ import annotations

import ast
from typing import Any, Dict, List

from stoker.serving.catalogue.extracting.classes import Klass, Member, Unresolved
from stoker.serving.catalogue.extracting.modules import Module, Modules, within

_COLLECTORS = {"list", "set", "tuple", "frozenset", "sorted"}


class Reader:
    """Reads expressions as they stand in one module."""

    def __init__(
        self,
        modules: Modules,
        module: Module,
        names: Dict[str, Any] | None = None,
        inside: Klass | None = None,
    ) -> None:
        self.modules = modules
        self.module = module
        self.names = names or {}
        self.inside = inside
        """The class in whose body the expression stands."""

    def value(self, node: ast.AST) -> Any:
        """What `node` comes to. Raises Unresolved."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise Unresolved(type(node).__name__)
        return method(node)

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _list(self, node: ast.List | ast.Tuple) -> List[Any]:
        found: List[Any] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                found.extend(self._items(item.value))
            else:
                found.append(self.value(item))
        return found

    _tuple = _list

    def _set(self, node: ast.Set) -> List[Any]:
        return sorted(self.value(item) for item in node.elts)

    def _dict(self, node: ast.Dict) -> Dict[Any, Any]:
        """Its keys are what matters; a value that only runs tells nothing."""
        found: Dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                found.update(self.value(value))
                continue
            try:
                found[self.value(key)] = self.value(value)
            except Unresolved:
                found[self.value(key)] = None
        return found

    def _name(self, node: ast.Name) -> Any:
        if node.id in self.names:
            return self.names[node.id]
        if self.inside is not None and self.inside.has(node.id):
            return self.value(self.inside.attribute(node.id))
        return self._written(node.id)

    def _written(self, name: str) -> Any:
        found = self.modules.find(self.module, name)
        if found is None:
            raise Unresolved(name)
        module, written = found
        if isinstance(written, ast.ClassDef):
            return Klass(module, written)
        if isinstance(written, ast.expr):
            return Reader(self.modules, module).value(written)
        raise Unresolved(name)

    def _attribute(self, node: ast.Attribute) -> Any:
        of = self.value(node.value)
        if isinstance(of, Member):
            return of.name if node.attr in ("name", "_name_") else of.value
        if not isinstance(of, Klass):
            raise Unresolved(node.attr)
        value = Reader(self.modules, of.module, inside=of).value(of.attribute(node.attr))
        return Member(node.attr, value) if of.enum else value

    def _subscript(self, node: ast.Subscript) -> Any:
        of, key = self.value(node.value), self.value(node.slice)
        if isinstance(of, (list, dict)) and isinstance(key, (int, str)):
            try:
                return of[key]  # type: ignore[index]
            except (LookupError, TypeError):
                pass
        raise Unresolved("subscript")

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.USub):
            return -self.value(node.operand)
        raise Unresolved("operator")

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Pow):
            return left**right
        raise Unresolved("operator")

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> List[Any]:
        (loop, *more) = node.generators
        if more or loop.ifs or not isinstance(loop.target, ast.Name):
            raise Unresolved("comprehension")
        inner = [
            Reader(self.modules, self.module, {**self.names, loop.target.id: item})
            for item in self._items(loop.iter)
        ]
        return [reader.value(node.elt) for reader in inner]

    _setcomp = _generatorexp = _listcomp

    def _items(self, node: ast.expr) -> List[Any]:
        value = self.value(node)
        if isinstance(value, Klass) and value.enum:
            names = [n.targets[0] for n in value.node.body if isinstance(n, ast.Assign)]
            return [
                Member(n.id, Reader(self.modules, value.module).value(value.attribute(n.id)))
                for n in names
                if isinstance(n, ast.Name)
            ]
        if isinstance(value, (list, dict)):
            return list(value)
        raise Unresolved("not a list")

    def _lambda(self, node: ast.Lambda) -> Any:
        return self.value(node.body)

    def _call(self, node: ast.Call) -> Any:
        called = ast.unparse(node.func).split(".")[-1]
        if called == "field":
            return self._field(node)
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func)
        if called in _COLLECTORS:
            found = self._items(node.args[0]) if node.args else []
            return sorted(found) if called != "list" and called != "tuple" else found
        return self._returned(called)

    def _field(self, node: ast.Call) -> Any:
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if "default" in given:
            return self.value(given["default"])
        factory = given.get("default_factory")
        if isinstance(factory, ast.Name) and factory.id in ("list", "dict", "set"):
            return {} if factory.id == "dict" else []
        if factory is None:
            raise Unresolved("field")
        return self.value(factory)

    def _method(self, node: ast.Attribute) -> Any:
        of = self.value(node.value)
        if isinstance(of, dict) and node.attr in ("keys", "values"):
            return list(getattr(of, node.attr)())
        if isinstance(of, str) and node.attr in ("lower", "upper"):
            return getattr(of, node.attr)()
        if isinstance(of, (list, dict)) and node.attr == "copy":
            return of
        raise Unresolved(node.attr)

    def _returned(self, name: str) -> Any:
        """Of a function without arguments: what its last line returns."""
        found = self.modules.find(self.module, name)
        if found is None or not isinstance(found[1], ast.FunctionDef):
            raise Unresolved(name)
        last = found[1].body[-1]
        if not isinstance(last, ast.Return) or last.value is None:
            raise Unresolved(name)
        return Reader(self.modules, within(*found)).value(last.value)


def plain(value: Any) -> Any:
    """As JSON holds it. Raises Unresolved for what JSON cannot hold."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    raise Unresolved(type(value).__name__)
