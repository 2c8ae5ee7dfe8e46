"""What was promised of Stoker's speed, with the figures that only it needs."""

from . import with_ansible
from .rows import STOKER, Aim, Row, at_least, told, under
from .session import Session

_FACTS = "connect and 40 facts, {} container{}"


def of(session: Session, table: list[Row]) -> list[Aim]:
    """Every aim; latency and the forty facts are measured here."""
    first = session.containers[0]
    session.say("the latency of one command")
    latency_ms = _middle(session.stoker.latency_ms(first, repeats=300))
    pct_ms = _middle(session.baseline.latency_ms(first, repeats=7))
    session.say("connect and forty facts")
    one, all_eight = (_facts_s(session, count) for count in (1, 8))
    starts = max(row.measured.pct_starts for row in table if row.measured.tool == STOKER)
    return [
        at_least(f"{with_ansible.SHIPPED.name}, 1 container", 100, table, 1),
        at_least(f"{with_ansible.PATCHED.name}, 8 containers", 80, table, 8),
        under("one command, median of 300", 3, latency_ms, "ms"),
        told("the same by pct exec, median of 7", pct_ms, "ms"),
        under(_FACTS.format(1, ""), 1.5, one, "s"),
        under(_FACTS.format(8, "s"), 4, all_eight, "s"),
        under("pct starts of Stoker", 1, starts, ""),
    ]


def _facts_s(session: Session, count: int) -> float:
    """Seconds from the first connect to the last answer, the median of three."""
    containers = session.containers[:count]
    done = [session.stoker.run(containers, "forty_facts.py") for _ in range(3)]
    return _middle([run.connected_s for run in done if run.connected_s is not None])


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
