"""Whether units can work, asked of the machine itself right before anything is touched."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyinfra import logger
from pyinfra.api import OperationError

from stoker.operations.surveying import FLAGSETS, Survey, survey
from stoker.refused import Refused
from stoker.serving import rules
from stoker.serving.checking import told
from stoker.serving.checking.judging import judge
from stoker.serving.checking.reason import Verdict
from stoker.serving.checking.served import joined
from stoker.serving.deployment import Deployment
from stoker.serving.evidence import file, states
from stoker.serving.evidence.checked import Checked
from stoker.serving.unit import Unit

MEASURED = "measured"
CANDIDATE = "try it as a candidate: --data candidate=yes"


def require(
    host: Any, deployment: Deployment, units: Sequence[Unit], candidate: bool
) -> dict[str, Checked]:
    """The flag sets of these units, which are about to be changed, by their names.

    Raises `OperationError` with every reason of every unit if one refuses, or if a flag set has no
    evidence on this machine and no candidate is wanted.
    """
    try:
        seen = survey(host, deployment, {unit.name for unit in units})
        verdicts, checked = _verdicts(seen, units), seen.checked(units)
    except Refused as error:
        raise OperationError(str(error)) from error
    for name, verdict in verdicts.items():
        for line in _remarks(verdict, checked[name]):
            host.log(f"{name}: {line}", log_func=logger.info)
    wrong = [*_refusals(verdicts, units), *(() if candidate else _unproved(checked))]
    if wrong:
        raise OperationError("\n".join([*wrong, "nothing was touched"]))
    return checked


def unmeasured(host: Any, deployment: Deployment, units: Sequence[Unit]) -> dict[str, Checked]:
    """The flag sets of these units, which serve, that have no evidence on this machine as it is.

    Evidence in which the same parts are unknown proves nothing, but another one would not either.
    Raises `Refused` if an evidence file cannot be used.
    """
    checked = survey(host, deployment, ()).checked(units)
    last = {name: one.record.fingerprint for name, one in checked.items() if one.record}
    return {name: one for name, one in checked.items() if last.get(name) != one.fingerprint}


def remarks(deployment: Deployment) -> Iterator[str]:
    """Of flag sets that serve and that nobody has measured anywhere; no machine is looked at."""
    for flagset, _ in deployment.flagsets:
        try:
            records = file.load(FLAGSETS, flagset.name)
        except Refused as error:
            yield from str(error).splitlines()
            continue
        if not records:
            why = states.unproved(flagset.status)
            yield f"{flagset.name} serves, but {why}; to measure it: --data candidate=yes"


def _verdicts(seen: Survey, units: Iterable[Unit]) -> dict[str, Verdict]:
    """Flag set -> what is said of its units, the same of several once."""
    rows = rules.load(rules.KNOWN_BAD)
    found: dict[str, list[Verdict]] = {}
    for unit in units:
        waivers = seen.flagsets[unit.flagset].waivers
        verdict = judge(seen.questions[unit.name], rows, waivers)
        room = Verdict((*verdict.reasons, *seen.around.room(unit)), verdict.notes)
        found.setdefault(unit.flagset, []).append(room)
    return {name: joined(verdicts) for name, verdicts in found.items()}


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
        if one.state == MEASURED:
            continue
        why = states.unproved(one.flagset.status, one.differences)
        yield f"cannot bring up {name}: {why}; {CANDIDATE}"
