"""Whether a container's driver libraries fit the node's module: the same version, to the letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def problems(found: Mapping[str, Sequence[str]], loaded: str) -> tuple[str, ...]:
    """A sentence for each library that does not fit the loaded module of version `loaded`.

    `found`: library -> its versions in the container. With no module loaded, or no library there
    (nothing in it uses a GPU by itself), there is nothing to compare.
    """
    told = []
    for library, versions in found.items():
        if len(versions) > 1:
            told.append(
                f"{library} is there in versions {', '.join(versions)}, half an upgrade; keep "
                f"{loaded or 'one'} alone"
            )
        elif loaded and list(versions) != [loaded]:
            told.append(
                f"{library} is of version {versions[0]} and the node's module of {loaded}; install "
                f"{loaded} in the container"
            )
    return tuple(told)
