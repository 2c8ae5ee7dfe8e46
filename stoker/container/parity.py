"""Whether a container's driver libraries are those of the node's module; else what to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stoker.container.libraries import Inside, Library, Use
from stoker.refused import Refused


@dataclass(frozen=True)
class Plan:
    """What makes them fit; nothing: they do."""

    place: bool = False
    """A tree of ours, where there is none, becomes the one that the loader takes."""
    withdraw: bool = False
    """The loader forgets ours, since the container's own fit."""
    remove: tuple[Library, ...] = ()
    """Of another version, to be taken away."""
    told: str = ""
    """What is not quite right and is left."""

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.place or self.withdraw or bool(self.remove)


def plan(loaded: str, found: Inside, replace: bool) -> Plan:
    """For a node whose module of version `loaded` is loaded. Raises `Refused` where libraries of
    another version are in the way and may not be removed."""
    others = tuple(one for one in found.own if one.version != loaded)
    fits = fitting(loaded, found)
    if others and not replace:
        if fits:
            return Plan(told=_beside(loaded, others))
        raise Refused(_in_the_way(loaded, others))
    if fits:
        return Plan(remove=others)
    if any(one.name == "libcuda" and one.version == loaded for one in found.own):
        return Plan(withdraw=True, remove=others)
    return Plan(place=True, remove=others)


def fitting(loaded: str, found: Inside) -> bool:
    """Whether what the loader takes is of that version."""
    taken = found.taken
    return "libcuda" in taken and set(taken.values()) == {loaded}


def superseded(loaded: str, found: Inside) -> list[str]:
    """Our trees that no process gets any more which starts now."""
    return [version for version in found.trees if version not in (loaded, found.current)]


def still_used(uses: Iterable[Use], loaded: str) -> list[str]:
    """A sentence for each unit, or process of none, that runs with libraries of another version."""
    who: dict[str, tuple[str, set[str]]] = {}
    for use in uses:
        version = Library(use.path.removesuffix(" (deleted)")).version
        if version and version != loaded:
            name = use.unit or f"process {use.pid}"
            who.setdefault(name, (use.unit, set()))[1].add(version)
    return [
        f"{name} still runs with the driver's libraries of {', '.join(sorted(versions))}, not of "
        f"{loaded}; {f'systemctl restart {unit}' if unit else 'restart it'} in the container"
        for name, (unit, versions) in sorted(who.items())
    ]


def _in_the_way(loaded: str, others: Sequence[Library]) -> str:
    return (
        f"cannot match the driver's libraries: the node's module is {loaded}, and the container "
        f"has {', '.join(map(str, others))}; install {loaded} there by hand, or let these be "
        'removed: driver = {"replace": True}'
    )


def _beside(loaded: str, others: Sequence[Library]) -> str:
    return (
        f"beside the driver's libraries of {loaded}, which are used, the container has "
        f'{", ".join(map(str, others))}; remove them, as driver = {{"replace": True}} would'
    )
