"""Before and after, and the steps between: each row is a machine and what is wanted of it."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.serving.changing.planning import Plan, Step, plan
from stoker.serving.changing.standing import Standing, Wanted

TP8 = "sglang.service"


def one(gpu: int) -> str:
    return f"sglang@{gpu}.service"


def claims(*gpus: int, port: int) -> frozenset[str]:
    return frozenset({f"port {port}", f"port {port - 1000}", *(f"GPU {gpu}" for gpu in gpus)})


def want(gpu: int, base: int = 30000, flagset: str = "a") -> Wanted:
    return Wanted(one(gpu), flagset, claims(gpu, port=base + gpu))


def x8(base: int = 30000, gpus: range = range(8), flagset: str = "a") -> list[Wanted]:
    return [want(gpu, base, flagset) for gpu in gpus]


WHOLE = Wanted(TP8, "whole", claims(*range(8), port=30000))


def serves(unit: Wanted) -> Standing:
    return Standing(unit.name, unit.claims, written=True, alive=True, right=True, answers=True)


def other(unit: Wanted) -> Standing:
    """There, serving something else."""
    return Standing(unit.name, unit.claims, alive=True)


def alone(units: list[Wanted]) -> tuple[Step, ...]:
    return tuple(Step((unit.name,)) for unit in units)


def names(units: list[Wanted]) -> tuple[str, ...]:
    return tuple(unit.name for unit in units)


def down(unit: Wanted) -> Standing:
    return replace(serves(unit), alive=False, right=False, answers=False)


@dataclass(frozen=True)
class Row:
    what: str
    wanted: list[Wanted]
    there: list[Standing]
    expected: Plan


EIGHT = x8()
ROWS = [
    Row("all is right", EIGHT, [serves(u) for u in EIGHT], Plan()),
    Row(
        "another flag set under the same names: one at a time",
        EIGHT,
        [other(u) for u in EIGHT],
        Plan(steps=alone(EIGHT), judged=names(EIGHT)),
    ),
    Row(
        "a fresh machine: one proves, the others follow together",
        EIGHT,
        [],
        Plan(steps=(Step((one(0),)), Step(names(EIGHT[1:]))), judged=names(EIGHT)),
    ),
    Row(
        "one for all GPUs in place of eight: all or none",
        [WHOLE],
        [other(u) for u in EIGHT],
        Plan(steps=(Step((TP8,), names(EIGHT)),), judged=(TP8,)),
    ),
    Row(
        "eight in place of one for all GPUs: all or none",
        EIGHT,
        [other(WHOLE)],
        Plan(steps=(Step(names(EIGHT), (TP8,)),), judged=names(EIGHT)),
    ),
    Row(
        "a new GPU beside seven that serve",
        EIGHT,
        [serves(u) for u in EIGHT[:7]],
        Plan(steps=alone(EIGHT[7:]), judged=names(EIGHT[7:])),
    ),
    Row(
        "all ports one up: the last moves first, or the others would find theirs taken",
        x8(30001),
        [other(u) for u in EIGHT],
        Plan(steps=alone(x8(30001)[::-1]), judged=names(EIGHT)),
    ),
    Row(
        "two that change ports with each other move together",
        [want(0, 30001), want(1, 29999)],
        [other(want(0)), other(want(1))],
        Plan(steps=(Step((one(0), one(1))),), judged=(one(0), one(1))),
    ),
    Row(
        "a unit nobody wants and nobody needs the place of goes last",
        EIGHT[:7],
        [*(other(u) for u in EIGHT[:1]), *(serves(u) for u in EIGHT[1:])],
        Plan(steps=alone(EIGHT[:1]), leftover=(one(7),), judged=(one(0),)),
    ),
    Row(
        "a unit nobody wants on a port that is needed goes in the same step",
        [want(0, 30007), *EIGHT[1:7]],
        [other(EIGHT[0]), *(serves(u) for u in EIGHT[1:7]), other(EIGHT[7])],
        Plan(steps=(Step((one(0),), (one(7),)),), judged=(one(0),)),
    ),
    Row(
        "dead, and its files are right: it is started, which is no switch",
        EIGHT,
        [down(EIGHT[0]), *(serves(u) for u in EIGHT[1:])],
        Plan(starts=(one(0),)),
    ),
    Row(
        "right and silent: it is followed",
        EIGHT[:1],
        [replace(serves(EIGHT[0]), answers=False)],
        Plan(starts=(one(0),)),
    ),
    Row(
        "written by a run that died before the restart: restarted, and judged before",
        EIGHT[:1],
        [replace(serves(EIGHT[0]), right=False, answers=False)],
        Plan(starts=(one(0),), judged=(one(0),)),
    ),
    Row(
        "half-written, and it runs what it ran: a switch as any other",
        EIGHT[:1],
        [other(EIGHT[0])],
        Plan(steps=alone(EIGHT[:1]), judged=(one(0),)),
    ),
    Row(
        "dead and right, but another that nobody wants has its GPU",
        EIGHT[:1],
        [down(EIGHT[0]), other(WHOLE)],
        Plan(steps=(Step((one(0),), (TP8,)),), judged=(one(0),)),
    ),
    Row(
        "a file that others may read, or a unit that is not enabled: nothing is restarted",
        EIGHT[:1],
        [replace(serves(EIGHT[0]), tidy=False)],
        Plan(mends=(one(0),)),
    ),
    Row(
        "a file edited under a server that runs what is wanted: nothing is restarted",
        EIGHT[:1],
        [replace(serves(EIGHT[0]), written=False)],
        Plan(mends=(one(0),)),
    ),
    Row(
        "two flag sets: the first of each before the rest of any",
        [*EIGHT[:2], *x8(31000, range(2, 4), "b")],
        [other(u) for u in EIGHT[:4]],
        Plan(
            steps=tuple(Step((one(gpu),)) for gpu in (0, 2, 1, 3)),
            judged=tuple(map(one, range(4))),
        ),
    ),
    Row("nothing is wanted", [], [other(WHOLE)], Plan(leftover=(TP8,))),
]


@pytest.mark.parametrize("row", ROWS, ids=[row.what for row in ROWS])
def test_the_steps_are(row: Row) -> None:
    assert plan(row.wanted, {unit.name: unit for unit in row.there}) == row.expected


BASES = st.integers(30000, 30012)


@given(st.permutations(range(6)), st.lists(BASES, min_size=6, max_size=6, unique=True), st.data())
def test_whatever_moves_comes_once_and_never_onto_a_taken_port(
    order: list[int], ports: list[int], data: st.DataObject
) -> None:
    """Played through: before each step, what it does not touch has left the places it needs."""
    before = data.draw(st.lists(BASES, min_size=6, max_size=6, unique=True))
    wanted = [Wanted(one(n), "a", claims(n, port=ports[n])) for n in order[:4]]
    taken = {one(n): claims(n, port=before[n]) for n in range(6) if data.draw(st.booleans())}
    made = plan(wanted, {name: Standing(name, places) for name, places in taken.items()})
    wishes = {unit.name: unit.claims for unit in wanted}
    for step in made.steps:
        touched = {*step.comes, *step.goes}
        held = frozenset[str]().union(*(p for n, p in taken.items() if n not in touched))
        for name in step.comes:
            assert not wishes[name] & held
        taken = {n: p for n, p in taken.items() if n not in touched}
        taken |= {name: wishes[name] for name in step.comes}
    come = [name for step in made.steps for name in step.comes]
    assert sorted(come) == sorted(wishes)
