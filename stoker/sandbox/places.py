"""Where the sandbox keeps its things on this machine. All of it is root's, outside the clone."""

import re
from pathlib import Path

from stoker.refused import Refused

ROOT = Path("/var/lib/stoker-sandbox")
CACHE = ROOT / "cache"
TEMPLATES = CACHE / "templates"
WHEELS = CACHE / "wheels"
LIBRARIES = CACHE / "libraries"

# A Linux interface name has 15 characters at most, and `stk-` is four of them.
_NAME = re.compile(r"[a-z][a-z0-9-]{0,10}")


def checked_name(name: str) -> str:
    """The instance name, if it can also be the tail of a bridge's name; otherwise `Refused`."""
    if not _NAME.fullmatch(name) or name == "cache":
        raise Refused(
            f"cannot call a sandbox {name!r}: a name has 1 to 11 of a-z, 0-9 and -, begins with a "
            "letter, and is not `cache`; choose another --name"
        )
    return name


def instance(name: str) -> Path:
    """The directory of one instance; it need not exist."""
    return ROOT / checked_name(name)


def removed(name: str) -> Path:
    """Where the directory of an instance goes to be deleted; no glob over instances finds it."""
    return ROOT / ".removed" / checked_name(name)
