"""What `systemctl show` and the unit files of a container say, as `UnitState`s."""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Sequence

from stoker.health.units import UnitState

PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "MainPID",
    "NRestarts",
    "FragmentPath",
    "ControlGroup",
    "UnitFileState",
    "ExecMainStartTimestampMonotonic",
    "Environment",
    "ExecStartPre",
)
_DEVICES = re.compile(r"(?:^|\s)\"?CUDA_VISIBLE_DEVICES=([^\s\"]*)")
Block = dict[str, list[str]]


def parse(
    lines: Iterable[str], passed: Sequence[str], now_s: float, targets: frozenset[str] | None
) -> tuple[UnitState, ...]:
    """Units by name. `passed` are the container's GPUs in its CUDA order, `now_s` is the time
    since boot, `targets` the units that the run is about (None: all that are ours).

    Blocks of `Key=value` lines, an empty line after each; those of a unit file begin with `Of=`
    and have an X before each key.
    """
    shown: dict[str, Block] = {}
    files: dict[str, Block] = {}
    for block in blocks(lines):
        for key, into in (("Id", shown), ("Of", files)):
            if key in block:
                into[block[key][0]] = block
    return tuple(
        _unit(name, shown[name], files.get(name, {}), passed, now_s, targets)
        for name in sorted(shown)
    )


def blocks(lines: Iterable[str]) -> Iterator[Block]:
    """Blocks between empty lines; a key may come several times."""
    block: Block = {}
    for line in [*lines, ""]:
        key, equals, value = line.partition("=")
        if equals:
            block.setdefault(key, []).append(value)
        elif block and not line.strip():
            yield block
            block = {}


def ours(name: str) -> bool:
    """Whether it is one of our servers by its name."""
    return name == "sglang.service" or bool(re.fullmatch(r"sglang@[^/]+\.service", name))


def on_purpose(name: str) -> bool:
    """Whether somebody runs it on purpose: a service, or a container engine's container.

    A session's scope is not: what a server leaves behind lies in one.
    """
    engines = r"(?:docker|libpod|crio|cri-containerd)-[0-9a-f]+\.scope"
    return name.endswith(".service") or bool(re.fullmatch(engines, name))


def _unit(
    name: str,
    shown: Block,
    file: Block,
    passed: Sequence[str],
    now_s: float,
    targets: frozenset[str] | None,
) -> UnitState:
    def one(key: str) -> str:
        return (shown.get(key) or [""])[0]

    def told(key: str) -> str:
        return (file.get(f"X{key}") or [""])[0]

    began = int(one("ExecMainStartTimestampMonotonic") or 0) / 1e6
    main = int(one("MainPID") or 0) or None
    return UnitState(
        name=name,
        target=ours(name) if targets is None else name in targets,
        load=one("LoadState"),
        active=one("ActiveState"),
        sub=one("SubState"),
        result=one("Result"),
        enabled=one("UnitFileState") == "enabled",
        file=one("FragmentPath"),
        cgroup=one("ControlGroup"),
        main_pid=main,
        age_s=now_s - began if main and began else None,
        restarts=int(one("NRestarts") or 0),
        gpus=_gpus(one("Environment"), passed),
        guarded="stoker" in " ".join(shown.get("ExecStartPre", ())),
        url=re.sub(r"//(0\.0\.0\.0|\[::\]):", "//127.0.0.1:", told("URL")),
        model=told("Model"),
        python=told("Python"),
    )


def _gpus(environment: str, passed: Sequence[str]) -> tuple[str, ...] | None:
    found = _DEVICES.search(environment)
    if found is None:
        return None
    names = [name for name in found[1].split(",") if name]
    numbered = {str(at): uuid for at, uuid in enumerate(passed)}
    return tuple(numbered.get(name, name) for name in names)
