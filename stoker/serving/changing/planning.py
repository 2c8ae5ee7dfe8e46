"""From what is wanted and what stands there: the steps of a change, in order.

Whatever can be changed alone is a step of its own, so that a failure leaves all the others serving.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stoker.serving.changing.grouping import Group, entangled, in_order
from stoker.serving.changing.standing import Standing, Wanted


@dataclass(frozen=True)
class Step:
    """Units that are changed together, all or none: proved, or all put back."""

    comes: tuple[str, ...]
    goes: tuple[str, ...] = ()
    """Units that nobody wants and whose port or GPU is needed for it."""


@dataclass(frozen=True)
class Plan:
    """Everything there is to do; units by name."""

    mends: tuple[str, ...] = ()
    """Their files are written anew and nothing is restarted: what runs is right."""
    starts: tuple[str, ...] = ()
    """Their files are right: they are started if need be, and followed to their token."""
    steps: tuple[Step, ...] = ()
    leftover: tuple[str, ...] = ()
    """Units that nobody wants and nobody needs the place of; removed last."""
    judged: tuple[str, ...] = ()
    """Those that will run something else than they do now."""

    @property
    def nothing(self) -> bool:
        """All is as wanted, and answers."""
        return not (self.mends or self.starts or self.steps or self.leftover)


def plan(wanted: Sequence[Wanted], standing: Mapping[str, Standing]) -> Plan:
    """What has to be done for `wanted`; the order of `wanted` decides where nothing else does."""
    names = {unit.name for unit in wanted}
    stands = {unit.name: standing.get(unit.name, Standing(unit.name)) for unit in wanted}
    todo = [unit for unit in wanted if not (stands[unit.name].right and stands[unit.name].answers)]
    moving = [unit for unit in todo if not stands[unit.name].right]
    unwanted = [one for name, one in standing.items() if name not in names]
    groups = in_order(entangled(moving, unwanted, standing), _leaders(moving))
    starts = {u.name for u in todo if stands[u.name].right}
    starts |= {g.comes[0] for g in groups if _only_down(g, stands)}
    steps = [group for group in groups if group.comes[0] not in starts]
    gone = {name for step in steps for name in step.goes}
    return Plan(
        mends=tuple(u.name for u in wanted if _mended(stands[u.name], standing)),
        starts=tuple(u.name for u in wanted if u.name in starts),
        steps=tuple(_steps(steps, {u.name: u.flagset for u in wanted}, standing)),
        leftover=tuple(one.name for one in unwanted if one.name not in gone),
        judged=tuple(u.name for u in moving if u.name not in starts or stands[u.name].alive),
    )


def _mended(unit: Standing, standing: Mapping[str, Standing]) -> bool:
    stays = unit.name in standing and (unit.right or unit.written)
    return stays and not (unit.written and unit.tidy)


def _only_down(group: Group, stands: Mapping[str, Standing]) -> bool:
    alone = len(group.comes) == 1 and not group.goes and not group.after
    return alone and stands[group.comes[0]].written


def _leaders(moving: Iterable[Wanted]) -> tuple[str, ...]:
    """The first of each flag set: it proves the flags, and fills the kernel cache for the rest."""
    first: dict[str, str] = {}
    for unit in moving:
        first.setdefault(unit.flagset, unit.name)
    return tuple(first.values())


def _steps(
    groups: Sequence[Group], flagset: Mapping[str, str], standing: Mapping[str, Standing]
) -> Iterable[Step]:
    """The groups; units that replace nobody come together once their flag set is proved."""
    proved: set[str] = set()
    together: dict[str, list[str]] = {}
    for group in groups:
        first = group.comes[0]
        fresh = len(group.comes) == 1 and not group.goes and first not in standing
        if fresh and flagset[first] in proved:
            together.setdefault(flagset[first], []).append(first)
        else:
            yield Step(group.comes, group.goes)
        proved |= {flagset[name] for name in group.comes}
    yield from (Step(tuple(names)) for names in together.values())
