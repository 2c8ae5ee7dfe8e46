"""systemd's own lines about a unit."""

from __future__ import annotations

import re

# Kind -> what begins the line; the first group is what it gives.
_SAYINGS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("starting", r"Starting ()\S"),
        ("started", r"Started ()\S"),
        ("stopping", r"Stopping ()\S"),
        ("restart", r"\S{1,256}: Scheduled restart job, restart counter is at (\d{1,9})"),
        ("limit", r"\S{1,256}: Start request repeated too quickly()"),
        (
            "exit",
            r"\S{1,256}: Main process exited, code=(\w{1,16}, status=[\w./+-]{1,40})",
        ),
        (
            "control",
            r"\S{1,256}: Control process exited, code=(\w{1,16}, status=[\w./+-]{1,40})",
        ),
        ("result", r"\S{1,256}: Failed with result '([\w-]{1,40})'"),
        ("result", r"Failed to start ()\S"),
    )
)
# Units of the system itself, of which a whole journal is full.
_OTHERS = re.compile(
    r"(?:(?:Starting|Started|Stopping|Failed to start) )?"
    r"(?:systemd-|user@|user-runtime|session-|apt-|dpkg-|man-db|logrotate|fstrim|e2scrub|cron\b|ssh|"
    r"getty|serial-getty|modprobe@|dbus|polkit|networking|postfix|pve(?!-container)|proxmox|zfs|smart"
    r"|\S{1,200}\.(?:timer|socket|scope|slice|target|mount|device|path|swap)\b"
    r"|Session \d|User Manager|Daily |Journal |Time & |Cleanup |Rotate |Discard )"
)

_UNIT = re.compile(
    r"(?:(?:Starting|Started|Stopping|Stopped|Failed to start) )?"
    r"(?P<unit>\S{1,256}\.service)(?:: | - |\.\.\.|\.|$)"
)
_SERVER = re.compile(r"sglang|llm|inference")


def unit_of(text: str) -> str:
    """The service that a line of systemd's is about; empty: it names none."""
    found = _UNIT.match(text)
    return found["unit"] if found else ""


def named_as_server(unit: str) -> bool:
    """Whether its name alone says that it serves a model."""
    return bool(_SERVER.search(unit))


def said_by_systemd(text: str) -> tuple[str, str] | None:
    """What kind of line it is and what it gives; None: none about a unit's start or end.

    Kinds: starting, started, stopping, restart, limit, exit, control, result.
    """
    for kind, pattern in _SAYINGS:
        found = pattern.match(text)
        if found:
            return None if _OTHERS.match(text) else (kind, found[1])
    return None
