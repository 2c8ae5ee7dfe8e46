"""Which units can only be changed together, and which one has to be changed before which."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stoker.serving.changing.standing import Standing, Wanted


@dataclass(frozen=True)
class Group:
    """Units that depend on each other's place."""

    comes: tuple[str, ...]
    goes: tuple[str, ...] = ()
    after: frozenset[str] = frozenset()
    """Units of other groups that still have a port or GPU which this one needs."""


def entangled(
    moving: Sequence[Wanted], unwanted: Sequence[Standing], standing: Mapping[str, Standing]
) -> tuple[Group, ...]:
    """The smallest groups, in the order of `moving`.

    Two units share one if they need the place of the same unwanted unit, or wait for each other.
    """
    takes = {u.name: {v.name for v in unwanted if u.claims & v.claims} for u in moving}
    waits = {u.name: _holding(u, moving, standing) for u in moving}
    needs = {name: waits[name] | takes[name] for name in waits}
    # Whoever takes an unwanted unit's place also waits for all others that take it.
    for name in waits:
        needs[name] |= {other for other in takes if takes[other] & takes[name]} - {name}
    reached = {name: _reached(name, needs) for name in waits}
    groups, seen = [], set[str]()
    for name in waits:
        if name in seen:
            continue
        comes = (name, *(o for o in waits if o in reached[name] and name in reached[o]))
        comes = tuple(dict.fromkeys(comes))
        seen |= set(comes)
        goes = tuple(v.name for v in unwanted if any(v.name in takes[n] for n in comes))
        groups.append(Group(comes, goes, frozenset().union(*(waits[n] for n in comes)) - {*comes}))
    return tuple(groups)


def in_order(groups: Sequence[Group], leaders: Sequence[str]) -> tuple[Group, ...]:
    """Each after those whose place it needs; else those with a leader first, in the order given."""
    left = sorted(groups, key=lambda group: not {*group.comes} & {*leaders})
    done: list[Group] = []
    while left:
        waiting = {name for group in left for name in group.comes}
        # There always is one: what waits for each other is one group.
        following = next(group for group in left if not group.after & waiting)
        done.append(following)
        left.remove(following)
    return tuple(done)


def _holding(unit: Wanted, moving: Sequence[Wanted], standing: Mapping[str, Standing]) -> set[str]:
    """Other units that are going to move and until then have a place which this one needs."""
    others = {other.name for other in moving} - {unit.name}
    return {name for name in others if name in standing and standing[name].claims & unit.claims}


def _reached(name: str, needs: Mapping[str, set[str]]) -> set[str]:
    found, todo = set[str](), [name]
    while todo:
        new = needs.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found
