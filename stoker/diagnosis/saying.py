"""Lines in a unit's own journal, which `systemctl status` shows."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence

SOCKET = "/run/systemd/journal/socket"
WARNING, ERROR = 4, 3
_SEND_S = 2


def say(unit: str, lines: Sequence[str], priority: int = WARNING, path: str = SOCKET) -> None:
    """Each a message about this unit, under our own name. Where no journal takes them, they go to
    standard error, which is one too for a service."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
            journal.settimeout(_SEND_S)
            journal.connect(path)
            for line in lines:
                journal.send(_message(unit, line, priority))
    except OSError as error:
        print(*lines, f"(the journal does not take it: {error})", sep="\n", file=sys.stderr)


def _message(unit: str, line: str, priority: int) -> bytes:
    fields = {
        "MESSAGE": "".join(c if c.isprintable() else "?" for c in line),
        "PRIORITY": str(priority),
        "SYSLOG_IDENTIFIER": "stoker",
        "OBJECT_SYSTEMD_UNIT": unit,
    }
    return "".join(f"{key}={value}\n" for key, value in fields.items()).encode("utf-8", "replace")
