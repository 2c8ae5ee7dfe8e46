"""A YAML file as data: no key twice, no alias, and what is hostile ends in a sentence."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from stoker.refused import Refused

_BASE: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_NULL = ("", "~", "null", "Null", "NULL")


class _Loader(_BASE):  # type: ignore[misc]
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        for key, _ in node.value:
            # A bare date would be one, and no key of ours is anything but text.
            if key.tag == "tag:yaml.org,2002:timestamp":
                key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep)


def read_file(path: Path) -> tuple[dict[str, Any] | None, list[str]]:
    """The file's keys, None if it has none that can be read; and what is wrong with it."""
    try:
        data, duplicates = read(path.read_text(encoding="utf-8"))
    except OSError as error:
        return None, [f"cannot be read: {error.strerror}"]
    except UnicodeDecodeError as error:
        return None, [f"is not UTF-8: byte {error.start}; save it as UTF-8"]
    except Refused as error:
        return None, [str(error)]
    if not isinstance(data, dict):
        return None, ["holds no keys; see the other files beside it"]
    return data, duplicates


def read(text: str) -> tuple[Any, list[str]]:
    """The data, and a sentence for each key that is there twice: YAML would let the later one win.

    Raises `Refused` with what the file is instead, such as `is not YAML: ...`.
    """
    return _read(text, lambda loader, node: loader.construct_document(node))


def read_texts(text: str) -> tuple[Any, list[str]]:
    """The same with every value as it is written, `0.80` and `True`; only null is None."""
    return _read(text, lambda loader, node: _texts(node))


def _read(text: str, made: Callable[[Any, Any], Any]) -> tuple[Any, list[str]]:
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None, []
        duplicates = list(_duplicates(node))
        return made(loader, node), duplicates
    except RecursionError:
        raise Refused("is nested too deeply; see the other files beside it") from None
    except (yaml.YAMLError, ValueError) as error:
        # A ValueError is a date or a number that there is not, such as 2026-13-01.
        if "maximum nesting" in str(error):
            raise Refused("is nested too deeply; see the other files beside it") from None
        raise Refused(f"is not YAML: {' '.join(str(error).split())}") from None


def _duplicates(root: yaml.Node) -> Iterator[str]:
    """Walks by itself, not by recursion: an alias is a node that comes twice."""
    waiting, met = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in met:
            # Ten lines of them make a value of gigabytes.
            raise yaml.MarkedYAMLError(
                problem="an alias stands for another value; write the value itself",
                problem_mark=node.start_mark,
            )
        met.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield from _twice(node)
            waiting += [one for pair in reversed(node.value) for one in reversed(pair)]
        elif isinstance(node, yaml.SequenceNode):
            waiting += reversed(node.value)


def _twice(node: yaml.MappingNode) -> Iterator[str]:
    seen: dict[str, int] = {}
    for key_node, _ in node.value:
        key, line = str(key_node.value), key_node.start_mark.line + 1
        if key in seen:
            yield f"{key}: is there twice, lines {seen[key]} and {line}"
        seen[key] = line


def _texts(node: yaml.Node) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return [_texts(one) for one in node.value]
    if isinstance(node, yaml.MappingNode):
        return {_key(key): _texts(value) for key, value in node.value}
    # Of a plain one PyYAML says None, and libyaml says nothing.
    plain = isinstance(node, yaml.ScalarNode) and node.style in (None, "")
    return None if plain and node.value in _NULL else node.value


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise yaml.MarkedYAMLError(problem="a key is no text", problem_mark=node.start_mark)
    return str(node.value)
