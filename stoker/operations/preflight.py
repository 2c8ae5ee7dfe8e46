"""Whether units can work, asked of the machine itself right before anything is touched."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyinfra import logger
from pyinfra.api import OperationError

from stoker.facts.catalogue import InstalledCatalogue
from stoker.facts.interpreter import Interpreter
from stoker.facts.machine import MachineLimits
from stoker.facts.model_files import ModelDirectories
from stoker.facts.versions import Versions
from stoker.refused import Refused
from stoker.serving import memory, rules
from stoker.serving.checking import surroundings, told
from stoker.serving.checking.judging import judge
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Verdict
from stoker.serving.checking.served import joined
from stoker.serving.checking.surroundings import Surroundings, draft_of, model_of
from stoker.serving.deployment import Deployment
from stoker.serving.evidence import file, states
from stoker.serving.evidence.checked import Checked
from stoker.serving.evidence.fingerprint import NONE
from stoker.serving.evidence.taking import fingerprint
from stoker.serving.flagset import FlagSet
from stoker.serving.unit import Unit

# Of the working directory, as pyinfra's own files are: a site is a directory of its own.
FLAGSETS, KNOWN_BAD = Path("group_data/flagsets"), Path("group_data/known_bad.yaml")
PROVED = ("measured",)
CANDIDATE = "try it as a candidate: --data candidate=yes"


def require(
    host: Any, deployment: Deployment, units: Sequence[Unit], candidate: bool
) -> dict[str, Checked]:
    """The flag sets of these units, which are about to be changed, by their names.

    Raises `OperationError` with every reason of every unit if one refuses, or if a flag set has no
    evidence on this machine and no candidate is wanted.
    """
    try:
        every = deployment.units(host.get_fact(Interpreter).python)
        around = read(host, every)
        flagsets = {flagset.name: flagset for flagset, _ in deployment.flagsets}
        questions = _questions(around, every, units)
        verdicts = _verdicts(around, flagsets, units, questions)
        checked = _checked(around, flagsets, units, questions)
    except Refused as error:
        raise OperationError(str(error)) from error
    _tell(host, verdicts, checked)
    wrong = [*_refusals(verdicts, units), *(() if candidate else _unproved(checked))]
    if wrong:
        raise OperationError("\n".join([*wrong, "nothing was touched"]))
    return checked


def read(host: Any, units: Sequence[Unit]) -> Surroundings:
    """The machine as it is now."""
    venvs = tuple(dict.fromkeys(unit.venv for unit in units))
    limits = host.get_fact(MachineLimits)
    found = {venv: host.get_fact(Versions, venv=str(venv)) for venv in venvs}
    known = {venv: host.get_fact(InstalledCatalogue, venv=str(venv)) for venv in venvs}
    paths, user = surroundings.paths_of(units), units[0].user if units else ""
    return Surroundings(
        host=limits.host(limits.units),
        machines={venv: machine for venv, machine in found.items() if machine},
        catalogues={venv: catalogue for venv, catalogue in known.items() if catalogue},
        directories=host.get_fact(ModelDirectories, paths=paths, user=user) if paths else {},
        used_gb={unit: size / 1e9 for unit, size in limits.units.items()},
    )


def _questions(
    around: Surroundings, every: Sequence[Unit], units: Sequence[Unit]
) -> dict[str, Question]:
    found = around.questions(every, {unit.name for unit in units})
    return {unit.name: question for unit, question in zip(every, found, strict=True)}


def _verdicts(
    around: Surroundings,
    flagsets: Mapping[str, FlagSet],
    units: Iterable[Unit],
    questions: Mapping[str, Question],
) -> dict[str, Verdict]:
    """Flag set -> what is said of its units, the same of several once."""
    rows = rules.load(KNOWN_BAD)
    found: dict[str, list[Verdict]] = {}
    for unit in units:
        verdict = judge(questions[unit.name], rows, flagsets[unit.flagset].waivers)
        room = Verdict((*verdict.reasons, *around.room(unit)), verdict.notes)
        found.setdefault(unit.flagset, []).append(room)
    return {name: joined(verdicts) for name, verdicts in found.items()}


def _checked(
    around: Surroundings,
    flagsets: Mapping[str, FlagSet],
    units: Iterable[Unit],
    questions: Mapping[str, Question],
) -> dict[str, Checked]:
    firsts = {unit.flagset: unit for unit in reversed(tuple(units))}
    return {
        name: _of(around, flagsets[name], unit, questions[unit.name])
        for name, unit in firsts.items()
    }


def _of(around: Surroundings, flagset: FlagSet, unit: Unit, question: Question) -> Checked:
    model, draft = around.files_of(model_of(unit)), around.files_of(draft_of(unit))
    drafted = question.parsed.get("speculative_draft_model_path")
    print_ = fingerprint(
        unit,
        flagset.env,
        around.machines.get(unit.venv),
        model.files.revision if model else None,
        (draft.files.revision if draft else None) if drafted else NONE,
    )
    standing = states.standing(flagset.status, file.load(FLAGSETS, flagset.name), print_)
    predicted = memory.predict(question)
    return Checked(
        flagset=flagset,
        fingerprint=print_,
        state=standing.state,
        record=standing.record,
        differences=standing.differences,
        parsed=question.parsed,
        prediction=predicted,
    )


def _tell(host: Any, verdicts: Mapping[str, Verdict], checked: Mapping[str, Checked]) -> None:
    for name, verdict in verdicts.items():
        for line in _remarks(verdict, checked[name]):
            host.log(f"{name}: {line}", log_func=logger.info)


def _remarks(verdict: Verdict, checked: Checked) -> Iterator[str]:
    for reason in verdict.reasons:
        if reason.severity == "warn":
            yield from told.paragraph(reason, "")
    yield from verdict.notes
    yield from getattr(checked.prediction, "sums", ())


def _refusals(verdicts: Mapping[str, Verdict], units: Sequence[Unit]) -> Iterator[str]:
    for name, verdict in verdicts.items():
        refusals = [reason for reason in verdict.reasons if reason.severity == "refuse"]
        if refusals:
            named = ", ".join(unit.name for unit in units if unit.flagset == name)
            yield f"cannot bring up {name} ({named}): it cannot work here"
        for reason in refusals:
            yield from told.paragraph(reason)


def _unproved(checked: Mapping[str, Checked]) -> Iterator[str]:
    for name, one in checked.items():
        if one.state not in PROVED:
            yield f"cannot bring up {name}: {why_unproved(one)}; {CANDIDATE}"


def why_unproved(checked: Checked) -> str:
    """`it is only reported (by the operators), and no run of ours has measured it here`."""
    if checked.state == "stale":
        return f"its evidence is stale ({', '.join(checked.differences)})"
    status = checked.flagset.status
    if status is None:
        return "nobody has said of it that it works, and no run of ours has measured it"
    return f"it is only reported (by {status.by}), and no run of ours has measured it here"
