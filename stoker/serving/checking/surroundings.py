"""What was read on one machine just before a change, and the questions that it makes of units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from stoker.serving.checking.asking import Facts
from stoker.serving.checking.question import Gpus, Host, Question
from stoker.serving.checking.reason import Reason
from stoker.serving.checking.served import asked, together

if TYPE_CHECKING:
    from pathlib import PurePosixPath

    from stoker.serving.catalogue.catalogue import Catalogue
    from stoker.serving.evidence.machine import Machine
    from stoker.serving.unit import Unit
    from stoker.serving.weights.directory import Directory

DRAFT = "--speculative-draft-model-path"
_GB = 1e9


@dataclass(frozen=True)
class Surroundings:
    """One machine; what is not in a mapping nobody could look at."""

    host: Host = field(default_factory=Host)
    """As if none of our servers ran."""
    machines: Mapping[PurePosixPath, Machine] = field(default_factory=dict)
    """Venv -> what a server of it runs on."""
    catalogues: Mapping[PurePosixPath, Catalogue] = field(default_factory=dict)
    """Venv -> what the SGLang that is installed there knows."""
    directories: Mapping[str, Directory] = field(default_factory=dict)
    """Path of a model or draft -> what lies there."""
    used_gb: Mapping[str, float] = field(default_factory=dict)
    """Unit -> the host memory that it uses now."""

    def questions(self, units: Sequence[Unit], moving: Iterable[str]) -> tuple[Question, ...]:
        """Of all units that will run together; `moving` are those that are not as they will be."""
        left = self._left(units)
        found = [
            asked(unit, self._facts(unit, left), self.catalogues.get(unit.venv)) for unit in units
        ]
        beside = together(units, found)
        moving = frozenset(moving)
        real = {u.name: self.used_gb.get(u.name) for u in units if u.name not in moving}
        return tuple(_with_real(question, real) for question in beside)

    def files_of(self, path: str | None) -> Directory | None:
        """What lies at that path; None: nobody looked."""
        return None if path is None else self.directories.get(path)

    def _facts(self, unit: Unit, host: Host) -> Facts:
        model, draft = self.files_of(model_of(unit)), self.files_of(draft_of(unit))
        machine = self.machines.get(unit.venv)
        return Facts(
            gpus=_gpus(machine, unit.gpus),
            host=host,
            model=model.model if model else None,
            draft=draft.draft if draft else None,
            files=model.files if model else None,
            software=_software(machine),
        )

    def _left(self, units: Iterable[Unit]) -> Host:
        """Once every model that is yet to be copied into memory lies there."""
        sizes = {u.stage.destination: self._to_be_copied(u) for u in units if u.stage}
        free = self.host.mem_available_gb
        return replace(
            self.host, mem_available_gb=free if free is None else free - sum(sizes.values()) / _GB
        )

    def _to_be_copied(self, unit: Unit) -> int:
        stage = unit.stage
        source = self.files_of(stage.source) if stage else None
        copy = self.files_of(stage.destination) if stage else None
        return 0 if source is None or (copy and copy.files.exists) else source.files.size_bytes

    def room(self, unit: Unit) -> Iterator[Reason]:
        """/dev/shm that is too small for the copy of the unit's model."""
        size, stage = self._to_be_copied(unit), unit.stage
        free, total = self.host.shm_free_gb, self.host.shm_gb
        if stage is None or not size or free is None or size / _GB <= free:
            return
        yield Reason(
            "shm_short",
            "refuse",
            f"the copy of {stage.source} needs {size / _GB:.1f} GB of /dev/shm, "
            f"where {free:.1f} of {total or free:.1f} GB are free",
            "remove what lies there, or give the container a larger /dev/shm",
        )


def model_of(unit: Unit) -> str | None:
    """Where its model lies on disk: the source, if it is served from memory."""
    return unit.stage.source if unit.stage else _after(unit, "--model-path")


def draft_of(unit: Unit) -> str | None:
    """Where its draft model lies; None: it has none, or it is a name and no path."""
    path = _after(unit, DRAFT)
    return path if path and path.startswith("/") else None


def paths_of(units: Iterable[Unit]) -> tuple[str, ...]:
    """Every directory of a model that these units need, each once."""
    found = [
        path
        for unit in units
        for path in (model_of(unit), draft_of(unit), unit.stage and unit.stage.destination)
        if path
    ]
    return tuple(dict.fromkeys(found))


def _after(unit: Unit, option: str) -> str | None:
    pairs = pairwise(unit.argv)
    return next((word for before, word in pairs if before == option), None)


def _with_real(question: Question, real: Mapping[str, float | None]) -> Question:
    """Those that go on as they are will use what they use now."""
    others = tuple(
        replace(one, host_gb=real[one.name]) if real.get(one.name) is not None else one
        for one in question.others
    )
    return replace(question, others=others)


def _gpus(machine: Machine | None, indices: tuple[int, ...]) -> Gpus:
    found = [gpu for gpu in machine.gpus if gpu.index in indices] if machine else []
    if not found or not machine:
        return Gpus()
    sizes = [gpu.memory_mib for gpu in found if gpu.memory_mib is not None]
    return Gpus(
        kind=found[0].kind,
        sm=found[0].sm,
        count=len(machine.gpus),
        memory_mib=min(sizes, default=None),
    )


def _software(machine: Machine | None) -> dict[str, str]:
    if machine is None:
        return {}
    said = {"cuda": machine.cuda, "torch": machine.torch, "driver": machine.driver}
    return {name: version for name, version in said.items() if version}
