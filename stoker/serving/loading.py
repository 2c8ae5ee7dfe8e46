"""Flag sets from their files: every problem of every file at once, by file and key."""

import difflib
import json
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from stoker.refused import Refused
from stoker.serving.flagset import FlagSet, Model, Placement, Status

_SECTIONS: dict[tuple[str, ...], type[BaseModel]] = {
    (): FlagSet,
    ("model",): Model,
    ("placement",): Placement,
    ("status",): Status,
}


def load(directory: Path, names: Iterable[str]) -> tuple[FlagSet, ...]:
    """The flag sets of these names, in this order.

    Raises `Refused` with every problem of all of them, one a line.
    """
    loaded: list[FlagSet] = []
    problems: list[str] = []
    for name in names:
        path = directory / f"{name}.yaml"
        flagset, found = _read(path)
        problems += [f"{path}: {problem}" for problem in found]
        if flagset and not found:
            loaded.append(flagset)
    if problems:
        raise Refused("\n".join(["cannot load flag sets; correct these keys:", *problems]))
    return tuple(loaded)


def _read(path: Path) -> tuple[FlagSet | None, list[str]]:
    if not path.is_file():
        known = sorted(p.stem for p in path.parent.glob("*.yaml"))
        return None, [f"there is no such flag set; there are: {', '.join(known) or 'none'}"]
    try:
        loader = _UniqueKeys(path.read_text(encoding="utf-8"))
        data = loader.get_single_data()
    except OSError as error:
        return None, [f"cannot be read: {error.strerror}"]
    except UnicodeDecodeError as error:
        return None, [f"is not UTF-8: byte {error.start}; save it as UTF-8"]
    except RecursionError:
        return None, ["is nested too deeply; see the other files beside it"]
    except (yaml.YAMLError, ValueError) as error:
        # A ValueError is a date or a number that there is not, such as 2026-13-01.
        return None, [f"is not YAML: {' '.join(str(error).split())}"]
    if not isinstance(data, dict):
        return None, ["holds no keys; see the other files beside it"]
    return _validate(data, path.stem, loader.duplicates)


def _validate(data: Any, stem: str, problems: list[str]) -> tuple[FlagSet | None, list[str]]:
    problems = problems + list(_contradictions(data))
    if data.get("name", stem) != stem:
        problems.append(f"name: is {data['name']!r}, the file says {stem!r}; make them one")
    try:
        # By way of JSON, so that strict mode still takes a list for a tuple and text for a date.
        return FlagSet.model_validate_json(json.dumps(data, default=str)), problems
    except ValidationError as error:
        return None, [*problems, *map(_sentence, error.errors())]


def _sentence(error: Any) -> str:
    # Pydantic marks an error of a mapping's key by a last "[key]".
    place = tuple(part for part in error["loc"] if part != "[key]")
    key = ".".join(map(str, place))
    if error["type"] == "extra_forbidden":
        section = _SECTIONS.get(place[:-1])
        known = ", ".join(section.model_fields) if section else ""
        near = difflib.get_close_matches(str(place[-1]), known.split(", "), n=1)
        return f"{key}: unknown key; " + (f"meant {near[0]}?" if near else f"known: {known}")
    if error["type"] == "missing":
        return f"{key}: is missing"
    return f"{key}: {error['msg'].removeprefix('Value error, ')}"


def _contradictions(data: Any) -> Iterator[str]:
    """What each key allows and both together do not; looks only at keys of the right kind."""
    placement, flags = _mapping(data, "placement"), _mapping(data, "flags")
    layout, gpus = placement.get("layout"), placement.get("gpus") or []
    if not isinstance(gpus, list):
        return
    if layout == "cpu" and gpus:
        yield "placement.gpus: a cpu layout has no GPUs; leave it out"
    if layout in ("one-per-gpu", "tensor-parallel") and not gpus:
        yield f"placement.gpus: {layout} needs the GPUs' indices"
    if len(set(map(str, gpus))) < len(gpus):
        yield "placement.gpus: names a GPU twice"
    ranks = flags.get("tp-size", len(gpus) if layout == "tensor-parallel" else 1)
    stages = flags.get("pp-size", 1)
    if not (_counts(ranks) and _counts(stages)):
        yield "flags.tp-size and flags.pp-size: are whole numbers from 1"
        return
    wanted = len(gpus) if layout == "tensor-parallel" else 1
    if gpus and ranks * stages != wanted:
        yield f"flags.tp-size: {ranks} ranks x {stages} stages do not fill {wanted} GPU(s) a server"
    yield from _staging(_mapping(data, "model"))


def _counts(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _staging(model: dict[str, Any]) -> Iterator[str]:
    path, source = str(model.get("path")), model.get("staged_from")
    if source and not path.startswith("/dev/shm/"):
        yield "model.staged_from: only a model in /dev/shm is staged; leave it out"
    if not source and path.startswith("/dev/shm/"):
        yield "model.staged_from: /dev/shm is empty after a reboot; say where the model is on disk"


def _mapping(data: Any, key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


class _UniqueKeys(yaml.SafeLoader):
    """YAML says a later key wins silently; here both are a problem."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.duplicates: list[str] = []

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            # Ten lines of them make a value of gigabytes.
            raise yaml.MarkedYAMLError(
                problem="an alias stands for another value; write the value itself",
                problem_mark=self.peek_event().start_mark,  # type: ignore[no-untyped-call]
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: dict[str, int] = {}
        for key_node, _ in node.value:
            # A bare date would be one, and no key of ours is anything but text.
            if key_node.tag == "tag:yaml.org,2002:timestamp":
                key_node.tag = "tag:yaml.org,2002:str"
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if key in seen:
                self.duplicates.append(f"{key}: is there twice, lines {seen[key]} and {line}")
            seen[key] = line
        return super().construct_mapping(node, deep)
