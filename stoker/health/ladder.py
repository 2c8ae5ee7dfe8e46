"""The decision that the table makes.

The first row whose evidence is seen is taken; if it is refused, the reason is kept and the next row
is asked. A row without a step ends the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from stoker.health import costly, refusal
from stoker.health import evidence as sees
from stoker.health.situation import RESETS, Situation
from stoker.health.table import TABLE, Row


@dataclass(frozen=True)
class Refused:
    """A rung that was not taken."""

    rung: str
    reason: str
    human: str
    code: int


@dataclass(frozen=True)
class Decision:
    """What to do now."""

    row: Row
    why: str
    """The evidence in words; where the run ends, the reason."""
    refused: tuple[Refused, ...] = ()
    """The rungs that were asked before this one, lowest first."""
    code: int | None = None
    """The exit code if the run ends here."""
    human: str = ""
    """What a human does next, if the run ends here."""

    @property
    def rung(self) -> str:
        """The row's name."""
        return self.row.name

    @property
    def step(self) -> str:
        """What the executor does; empty: the run ends."""
        return "" if self.code is not None else self.row.step


def decide(situation: Situation, table: tuple[Row, ...] = TABLE) -> Decision:
    """The next thing to do, with every rung that was refused on the way to it."""
    refused: list[Refused] = []
    for row in table:
        if situation.done.times(row.name) >= row.times or not row.evidence(situation):
            continue
        against = _first(row, situation)
        if against is not None:
            refused.append(against)
        if not row.step:
            return _end(row, tuple(refused), situation)
        if against is None:
            return Decision(row, described(row.evidence), tuple(refused))
    raise AssertionError("the last row always applies")


def described(function: Callable[..., object]) -> str:
    """A predicate's or refusal's words."""
    return " ".join((function.__doc__ or function.__name__).split())


def _first(row: Row, situation: Situation) -> Refused | None:
    for refuses in row.refuses:
        refusal = refuses(situation)
        if refusal is not None:
            return Refused(row.name, refusal.reason, refusal.human, refusal.code)
    return None


def _end(row: Row, refused: tuple[Refused, ...], situation: Situation) -> Decision:
    """The end: a rung that a human can still open decides before the reboot does."""
    if row.evidence is sees.clean:
        return Decision(row, notes(situation), refused, refusal.CLEAN)
    last = refused[-1] if row.name != "R7" else _openable(refused)
    named = next(rung for rung in TABLE if rung.name == last.rung)
    return Decision(named, last.reason, refused, last.code, last.human)


def _openable(refused: tuple[Refused, ...]) -> Refused:
    return next((r for r in refused if r.code != refusal.REBOOT), refused[-1])


def notes(s: Situation) -> str:
    """What a clean state still has to tell."""
    told = [f"{u.name} is {u.standing}" + (f": {u.said}" if u.said else "") for u in s.targets]
    smi = s.seen.driver.smi
    if smi.state not in ("ok", "skipped"):
        told.append(f"nvidia-smi is {smi.state} ({smi.text})")
    free = [g for g in s.gpus if not any(g.uuid in h.gpus for h in s.seen.holders)]
    latched = tuple(g for g in free if g.utilization_pct == 100)
    if latched:
        told.append(
            f"{refusal.labels(latched)} reports 100 % with no holder: a latched figure, harmless, "
            "gone with the next CUDA program"
        )
    asking = tuple(g for g in s.gpus if (g.recovery_action or "").lower() in RESETS)
    if asking:
        told.append(
            f"the driver asks for a reset of {refusal.labels(asking)} when it can be spared"
        )
    doubts = [costly.action_unknown(s), costly.scan_incomplete(s)]
    return "; ".join(["clean", *told, *(doubt.reason for doubt in doubts if doubt)])
