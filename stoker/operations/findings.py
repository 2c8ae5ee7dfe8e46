"""Why servers are down, for every unit of every host: asked, joined and told. Changes nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from stoker.diagnosis.journal import LAST_LINES
from stoker.diagnosis.judging import numbered
from stoker.diagnosis.loops import loop
from stoker.diagnosis.secrecy import Hiding
from stoker.facts.deaths import UnitDeath, UnitDeaths
from stoker.facts.server_state import WELL, first_of_loop, questions, state_of
from stoker.facts.servers import AskedServers, Server
from stoker.facts.start_log import MOST_BYTES, StartLog
from stoker.facts.startup import Answer, Tokens
from stoker.health.crash.beside import BEFORE_S
from stoker.health.crash.death import Death
from stoker.health.crash.diagnosing import diagnose
from stoker.health.crash.joining import joined
from stoker.health.crash.telling import paragraph
from stoker.health.crash.verdict import HEALTHY, Verdict
from stoker.operations.from_node import host_side
from stoker.pct.closed import closed
from stoker.pct.errors import PctError

_UNKNOWN_SINCE_S = 3600
_HERE = (
    "  judged by its last start alone: the container has no diagnose.pyz of this version, or that "
    "gave no answer in time; a deploy places it"
)


@dataclass(frozen=True)
class Finding:
    """One unit of one host, or why there is none to be seen."""

    host: str
    unit: str
    """Empty: the host itself."""
    state: str
    """As `state_of` says; missing (a flag set without a unit); of a host: stopped, frozen,
    unreachable."""
    since: float | None = None
    """Start of what runs, end of what does not; seconds since 1970."""
    verdict: Verdict | None = None
    lines: tuple[str, ...] = ()
    """The paragraph; none for a unit that is well."""
    remark: str = ""
    """What a unit that is well had come to before; empty: nothing is known."""

    @property
    def wrong(self) -> bool:
        """Whether somebody has to do something."""
        return self.state not in WELL


def of(host: Any) -> list[Finding]:
    """What there is to say of a container, or of a machine that serves without one."""
    try:
        if shut := closed(host.connector):
            said = shut.why.replace("cannot enter", "cannot diagnose", 1)
            return [Finding(host.name, "", shut.state, lines=(f"{host.name}: {said}",))]
        servers: dict[str, Server] | None = host.get_fact(AskedServers, _ignore_errors=True)
        if servers is None:
            return [_unasked(host)]
        deaths: dict[str, UnitDeath] = host.get_fact(UnitDeaths, _ignore_errors=True)
        answers = _answers(host, servers.values())
        found = [_of_unit(host, one, deaths.get(one.unit), answers) for one in servers.values()]
    except PctError as error:
        return [Finding(host.name, "", "unreachable", lines=(f"{host.name}: {error}",))]
    return sorted([*found, *_missing(host, servers)], key=lambda one: one.unit)


def unreachable(host: Any) -> Finding:
    """One that could not be connected; why was said then."""
    told = f"{host.name}: it could not be reached, so nothing is known of its units; see above"
    return Finding(host.name, "", "unreachable", lines=(told,))


def _unasked(host: Any) -> Finding:
    told = (
        f"{host.name}: it could not be asked, so nothing is known of its units; see above, and "
        "run again"
    )
    return Finding(host.name, "", "unreachable", lines=(told,))


def _answers(host: Any, servers: Iterable[Server]) -> dict[str, Answer]:
    """Unit -> what the process that runs said to a request for a token."""
    asked = questions(servers)
    if not asked:
        return {}
    told: dict[str, Answer] = host.get_fact(Tokens, questions=asked, _ignore_errors=True)
    return told


def _missing(host: Any, servers: dict[str, Server]) -> Iterator[Finding]:
    there = {server.flagset for server in servers.values()}
    for name in host.data.get("flagsets") or []:
        if name not in there:
            told = f"{host.name}: flag set {name} has no unit that is seen; deploy it"
            yield Finding(host.name, "", "missing", lines=(told,))


def _of_unit(
    host: Any, server: Server, told: UnitDeath | None, answers: dict[str, Answer]
) -> Finding:
    answer = answers.get(server.unit)
    state = state_of(server, answer, told.verdict if told else None, told.reports if told else ())
    since = server.since.timestamp() if server.since else None
    if state in WELL:
        verdict = told.verdict if told else None
        return Finding(host.name, server.unit, state, since, verdict, remark=_remark(told))
    what = f"{host.name} {server.unit}"
    if state == "unreachable":
        line = f"{what}: it runs, but it could not be asked for a token; see above, and run again"
        return Finding(host.name, server.unit, state, since, lines=(line,))
    if told and state == "restarting" and (first := first_of_loop(server, told.reports)):
        told = replace(told, death=first.death, verdict=first.verdict)
    if state == "stopped" and (told is None or told.death is None):
        line = f"{what}: it is stopped, and did not die; start it, or take it out of the inventory"
        return Finding(host.name, server.unit, state, lines=(line,))
    known = told or _judged_here(host, server, since)
    death = known.death
    verdict = joined(known.verdict, death, host_side(host, _since(death, since)))
    mute = state == "silent" and verdict.name == HEALTHY
    said = _mute(what, known) if mute else paragraph(verdict, what)
    lines = (*said, *_more(known, state, answer), *([] if told else [_HERE]))
    ended = death.ended if death else None
    return Finding(host.name, server.unit, state, ended or since, verdict, lines)


def _judged_here(host: Any, server: Server, since: float | None) -> UnitDeath:
    """Of a container that cannot judge by itself: its last start, of which systemd says less."""
    lines = host.get_fact(StartLog, invocation=server.invocation, _ignore_errors=True)
    log = [f"{line}\n".encode() for line in lines]
    verdict = diagnose(log, server.sglang)
    if sum(map(len, log)) >= MOST_BYTES:  # what came before is not there: no line has its number
        verdict = numbered(verdict, cut=0)
    hiding = Hiding(())
    death = Death(server.unit, server.result, "", "", since, None, server.restarts)
    last = hiding.lines(lines[-LAST_LINES:])
    return UnitDeath(server.unit, death, hiding.verdict(verdict), (), last)


def _since(death: Death | None, started: float | None) -> float:
    """From when on the node's log may have to do with it."""
    first = (death.started if death else None) or started
    if first is None:
        now = datetime.now(UTC).timestamp()
        return ((death.ended if death else None) or now) - _UNKNOWN_SINCE_S
    return first - BEFORE_S


def _mute(what: str, told: UnitDeath) -> Iterator[str]:
    """In place of a paragraph, of one that is well by its log alone."""
    yield f"{what}: by its log it is up and nothing is wrong, but it does not answer"
    yield from (f"  last line: {line}" for line in told.last_lines[-3:])
    yield f"  do: Ask again in a minute; if it stays silent, restart {told.unit} in the container."


def _more(told: UnitDeath, state: str, answer: Answer | None) -> Iterator[str]:
    starts = len(loop(told.reports))
    if state == "silent" and answer and answer.error:
        yield f"  it runs, and gave no token: {answer.error}"
    if state == "restarting":
        yield "  systemd starts it again; this is the first failure of the loop"
    if state == "failed" and starts > 1:
        yield f"  systemd gave up after {starts} starts; this is the first failure of them"


def _remark(told: UnitDeath | None) -> str:
    if told is None or not told.reports:
        return ""
    last = told.reports[-1]
    return (
        f"{len(told.reports)} death(s) reported before, the last {at(last.time)}: "
        f"{last.verdict.cause} ({last.verdict.name})"
    )


def at(time: float | None) -> str:
    """In UTC to the second; empty: not known."""
    return "" if time is None else datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S")
