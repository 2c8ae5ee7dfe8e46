"""What two containers of an inventory cannot both have."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from stoker.container.network import Network


class Claim(NamedTuple):
    """The GPUs that one container asks for."""

    node: str
    gpus: str | tuple[str, ...]
    """`all`, or their names."""
    shared: bool


def addresses(hosts: Mapping[str, Sequence[Network]]) -> Iterator[str]:
    """Two interfaces with one fixed address in one VLAN."""
    first: dict[tuple[int | None, str], str] = {}
    for name, networks in hosts.items():
        for network in networks:
            for address in network.addresses:
                here = f"{name}: container.networks: {network.name}"
                there = first.setdefault((network.vlan, address), f"{name}'s {network.name}")
                if there != f"{name}'s {network.name}":
                    yield f"{here} has {address}, as {there} has"


def gpus(claims: Mapping[str, Claim]) -> Iterator[str]:
    """Two containers of a node that name the same GPU, unless both say that it is shared."""
    for (one, first), (two, second) in combinations(claims.items(), 2):
        if first.node != second.node or (first.shared and second.shared):
            continue
        for gpu in _both(first.gpus, second.gpus):
            yield (
                f"{two}: container.gpus: {gpu} is {one}'s too; give it to one, "
                "or say gpus_shared in both"
            )


def _both(one: str | tuple[str, ...], two: str | tuple[str, ...]) -> list[str]:
    if isinstance(one, tuple) and isinstance(two, tuple):
        return [gpu for gpu in two if gpu in one]
    if one == two:
        return ["every GPU"]
    return list(two if isinstance(two, tuple) else one)
