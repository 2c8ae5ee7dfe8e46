"""Flag sets from their files: every problem of every file at once, by file and key."""

import difflib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from stoker.refused import Refused
from stoker.serving import document
from stoker.serving.catalogue import recorded
from stoker.serving.catalogue.spelling import spellings
from stoker.serving.flagset import (
    ABBREVIATED,
    OWNED_FLAGS,
    Draft,
    FlagSet,
    Model,
    Placement,
    Status,
)

_SECTIONS: dict[tuple[str, ...], type[BaseModel]] = {
    (): FlagSet,
    ("model",): Model,
    ("draft",): Draft,
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
    data, problems = document.read_file(path)
    return (None, problems) if data is None else validated(data, path.stem, problems)


def validated(
    data: dict[str, Any], stem: str, duplicates: Iterable[str] = ()
) -> tuple[FlagSet | None, list[str]]:
    """The flag set that these data are, None if it cannot be made, and every problem.

    `stem` is its file's name without .yaml; `duplicates` are problems that are known already.
    """
    problems = [*duplicates, *_contradictions(data), *_abbreviated(data)]
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
    yield from _staging(_mapping(data, "model"))
    placement, flags = _mapping(data, "placement"), _mapping(data, "flags")
    yield from _renaming(_mapping(data, "draft"), flags)
    layout, gpus = placement.get("layout"), placement.get("gpus") or []
    if not isinstance(gpus, list):
        return
    if layout == "cpu" and gpus:
        yield "placement.gpus: a cpu layout has no GPUs; leave it out"
    if layout in ("one-per-gpu", "tensor-parallel") and not gpus:
        yield f"placement.gpus: {layout} needs the GPUs' indices"
    if len(set(map(str, gpus))) < len(gpus):
        yield "placement.gpus: names a GPU twice"
    wanted = len(gpus) if layout == "tensor-parallel" else 1
    stages = flags.get("pp-size", 1)
    if type(stages) is not int or stages < 1:
        yield f"flags.pp-size: {stages!r} is no number of stages"
        return
    ranks = flags.get("tp-size", wanted // stages)
    if type(ranks) is not int:
        yield f"flags.tp-size: {ranks!r} is no number of ranks"
    elif gpus and ranks * stages != wanted:
        yield f"flags.tp-size: {ranks} ranks x {stages} stages do not fill {wanted} GPU(s) a server"


def _abbreviated(data: dict[str, Any]) -> Iterator[str]:
    """Flags that SGLang would take for others: the next version may have two that begin so."""
    catalogue = recorded.load(str(data.get("sglang")))
    known = spellings(catalogue) if catalogue else None
    for name in _mapping(data, "flags") if known else ():
        meant = known.meant(f"--{name}") if known else ()
        told = name in ABBREVIATED or any(owned.startswith(str(name)) for owned in OWNED_FLAGS)
        if len(meant) == 1 and meant[0] != f"--{name}" and not told:
            yield f"flags.{name}: is an abbreviation; write {meant[0].removeprefix('--')}"


def _staging(model: dict[str, Any]) -> Iterator[str]:
    path, source = str(model.get("path")), model.get("staged_from")
    if not path.strip("/").removeprefix("dev/shm").strip("/."):
        # All of it would be taken for the copy.
        yield "model.path: is no directory of a model's own; name one below it"
    elif source and not path.startswith("/dev/shm/"):
        yield "model.staged_from: only a model in /dev/shm is staged; leave it out"
    elif not source and path.startswith("/dev/shm/"):
        yield "model.staged_from: /dev/shm is empty after a reboot; say where the model is on disk"


def _renaming(draft: dict[str, Any], flags: dict[str, Any]) -> Iterator[str]:
    if "renamed_from" not in draft:
        return
    source = str(draft["renamed_from"]).rstrip("/")
    copy = flags.get("speculative-draft-model-path")
    if not isinstance(copy, str) or not copy.startswith("/"):
        yield "draft.renamed_from: needs flags.speculative-draft-model-path, the copy's directory"
    elif f"{copy}/".startswith(f"{source}/") or f"{source}/".startswith(f"{copy.rstrip('/')}/"):
        yield "draft.renamed_from: is where the copy goes; name another directory for the copy"
    elif copy.startswith("/dev/shm/"):
        yield "flags.speculative-draft-model-path: /dev/shm is empty after a reboot; put it on disk"


def _mapping(data: Any, key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}
