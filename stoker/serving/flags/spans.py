"""Versions in words: `0.5.7 to 0.5.19`."""

from collections.abc import Sequence

from stoker.serving.catalogue import recorded


def span(versions: Sequence[str]) -> str:
    """Recorded versions as ranges; those that follow each other in the records are one."""
    order = recorded.versions()
    places = sorted(order.index(version) for version in versions)
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return joined([_run(order[run[0]], order[run[-1]]) for run in runs])


def _run(first: str, last: str) -> str:
    if first == last:
        return first
    return f"{first} and later" if last == recorded.versions()[-1] else f"{first} to {last}"


def joined(words: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def shortened(words: Sequence[str], most: int = 8) -> str:
    """The first few of them, and how many more there are."""
    more = len(words) - most
    return joined(words) if more < 2 else f"{', '.join(words[:most])} and {more} more"
