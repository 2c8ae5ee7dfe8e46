"""How long the threads of a server waited for a processor. Standard library only."""

from collections.abc import Iterator, Mapping
from pathlib import Path

PROC = Path("/proc")
SHORT_S = 2.0
"""In less than that one turn of the scheduler is much."""


def waits(pid: int) -> dict[str, int]:
    """Thread -> nanoseconds that it has stood ready to run and did not, of the process and all that
    descend from it. Empty where the kernel does not count them."""
    found: dict[str, int] = {}
    for member in _family(pid):
        for path in (PROC / str(member)).glob("task/*/schedstat"):
            numbers = _text(path).split()
            if len(numbers) > 1:
                found[str(path)] = int(numbers[1])
    return found


def waited(before: Mapping[str, int], after: Mapping[str, int], seconds: float) -> float | None:
    """The part of that time which the thread that waited longest spent waiting; None: not known,
    or too short a time to tell."""
    grown = [wait - before.get(thread, 0) for thread, wait in after.items()]
    if not grown or seconds < SHORT_S:
        return None
    return min(1.0, max(0.0, max(grown) / 1e9 / seconds))


def _family(pid: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for path in PROC.glob("[0-9]*/stat"):
        # The name before the bracket may hold anything.
        fields = _text(path).rpartition(") ")[2].split()
        if len(fields) > 1:
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    members = [pid]
    while members:
        member = members.pop()
        yield member
        members += children.pop(member, [])


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it ended in between
        return ""
