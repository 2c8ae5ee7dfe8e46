"""One look at a machine: everything that the checks and the evidence of its units need."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stoker.facts.catalogue import InstalledCatalogue
from stoker.facts.machine import MachineLimits
from stoker.facts.model_files import ModelDirectories
from stoker.facts.versions import Versions
from stoker.operations.standing import units_of
from stoker.serving import memory
from stoker.serving.checking import surroundings
from stoker.serving.checking.question import Question
from stoker.serving.checking.surroundings import Surroundings, draft_of, model_of
from stoker.serving.deployment import Deployment
from stoker.serving.evidence import file, states
from stoker.serving.evidence.checked import Checked
from stoker.serving.evidence.fingerprint import NONE, Fingerprint
from stoker.serving.evidence.taking import fingerprint
from stoker.serving.flagset import FlagSet
from stoker.serving.unit import Unit

# Of the working directory, as pyinfra's own files are: a site is a directory of its own.
FLAGSETS = Path("group_data/flagsets")


@dataclass(frozen=True)
class Survey:
    """What was seen, and what it makes of the units."""

    around: Surroundings
    flagsets: Mapping[str, FlagSet]
    questions: Mapping[str, Question]
    """By unit, of all that will run together."""

    def checked(self, units: Iterable[Unit]) -> dict[str, Checked]:
        """The flag sets of these units by their names, each by its first unit.

        Raises `Refused` if an evidence file cannot be used.
        """
        firsts = {unit.flagset: unit for unit in reversed(tuple(units))}
        return {name: self._of(self.flagsets[name], unit) for name, unit in firsts.items()}

    def _of(self, flagset: FlagSet, unit: Unit) -> Checked:
        now, question = self._fingerprint(flagset, unit), self.questions[unit.name]
        standing = states.standing(flagset.status, file.load(FLAGSETS, flagset.name), now)
        return Checked(
            flagset=flagset,
            fingerprint=now,
            state=standing.state,
            record=standing.record,
            differences=standing.differences,
            parsed=question.parsed,
            prediction=memory.predict(question),
        )

    def _fingerprint(self, flagset: FlagSet, unit: Unit) -> Fingerprint:
        model, draft = (self.around.files_of(path) for path in (model_of(unit), draft_of(unit)))
        drafted = self.questions[unit.name].parsed.get("speculative_draft_model_path")
        return fingerprint(
            unit,
            flagset.env,
            self.around.machines.get(unit.venv),
            model.files.revision if model else None,
            (draft.files.revision if draft else None) if drafted else NONE,
        )


def survey(host: Any, deployment: Deployment, moving: Iterable[str]) -> Survey:
    """The machine as it is now; `moving`: units that are about to be changed.

    Raises `Refused` if the wanted units cannot live there.
    """
    units = units_of(host, deployment)
    around = _read(host, units)
    questions = around.questions(units, moving)
    return Survey(
        around=around,
        flagsets={flagset.name: flagset for flagset, _ in deployment.flagsets},
        questions={unit.name: one for unit, one in zip(units, questions, strict=True)},
    )


def _read(host: Any, units: Sequence[Unit]) -> Surroundings:
    venvs = tuple(dict.fromkeys(unit.venv for unit in units))
    limits = host.get_fact(MachineLimits)
    found = {venv: host.get_fact(Versions, venv=str(venv)) for venv in venvs}
    known = {venv: host.get_fact(InstalledCatalogue, venv=str(venv)) for venv in venvs}
    paths = surroundings.paths_of(units)
    asked = {"paths": paths, "python": units[0].python, "user": units[0].user} if paths else {}
    return Surroundings(
        host=limits.host(limits.units),
        machines={venv: machine for venv, machine in found.items() if machine},
        catalogues={venv: catalogue for venv, catalogue in known.items() if catalogue},
        directories=host.get_fact(ModelDirectories, **asked) if asked else {},
        used_gb={unit: size / 1e9 for unit, size in limits.units.items()},
    )
