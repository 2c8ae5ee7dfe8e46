"""How often the OOM killer ended a process of this container, as the container itself sees it."""

from __future__ import annotations

import re

PATHS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
"""Of the container's own cgroup: version 2, and version 1."""


def counter(paths: tuple[str, ...] = PATHS) -> int | None:
    """The kernel's count since the container started; None where it does not tell."""
    for path in paths:
        try:
            with open(path, encoding="ascii", errors="replace") as stream:
                found = re.search(r"^oom_kill (\d+)$", stream.read(65536), re.MULTILINE)
        except OSError:
            continue
        if found:
            return int(found[1])
    return None


def since(now: int | None, before: int | None) -> int | None:
    """What came to it since; `before`: at the last report, None: there was none.

    A count that fell has begun anew: the container was started since.
    """
    if now is None or before is None or now < before:
        return now
    return now - before
