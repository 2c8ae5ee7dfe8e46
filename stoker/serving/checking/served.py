"""The questions that units mean: each server with the others that will run beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from stoker.serving import memory
from stoker.serving.catalogue.catalogue import Catalogue
from stoker.serving.checking.asking import Facts, question
from stoker.serving.checking.question import OtherServer, Question
from stoker.serving.checking.reason import Reason, Verdict
from stoker.serving.fitting import ports
from stoker.serving.memory import host
from stoker.serving.unit import Unit


def asked(unit: Unit, facts: Facts, catalogue: Catalogue | None = None) -> Question:
    """What is asked of one unit by itself."""
    return question(
        unit.flagset,
        unit.sglang,
        unit.argv[2:],
        dict(unit.environment),
        facts,
        visible=len(unit.gpus) or None,
        catalogue=catalogue,
    )


def together(units: Sequence[Unit], questions: Sequence[Question]) -> tuple[Question, ...]:
    """The same questions, each with the other units as its neighbours."""
    servers = [_server(unit, one) for unit, one in zip(units, questions, strict=True)]
    return tuple(
        replace(one, others=(*one.others, *(s for s in servers if s.name != unit.name)))
        for unit, one in zip(units, questions, strict=True)
    )


def _server(unit: Unit, question: Question) -> OtherServer:
    bound = {unit.port, unit.nccl_port, *(port for port, _ in ports.of(question))}
    wanted = memory.host_gb(question)
    # Several may share one copy of their model in /dev/shm: it is no server's own.
    own = None if wanted is None else wanted - host.staged_gb(question)
    return OtherServer(unit.name, ports=tuple(sorted(bound)), gpus=unit.gpus, host_gb=own)


def joined(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict of several: what is the same of each is said once."""
    reasons: dict[Reason, None] = {}
    notes: dict[str, None] = {}
    for verdict in verdicts:
        reasons.update(dict.fromkeys(verdict.reasons))
        notes.update(dict.fromkeys(verdict.notes))
    return Verdict(tuple(reasons), tuple(notes))
