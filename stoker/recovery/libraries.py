"""Versions of the driver's libraries in a container, read from the node without entering it.

A library's file ends in its version. Everything below a container's root is its own to write: a
link is followed within that root only, and no file is opened. What lies on a dead network file
system blocks for ever, so this is for `in_time`.
"""

from __future__ import annotations

import os
import re
import stat

from stoker.health.driver_folders import CURRENT, FOLDERS, VERSION

# Of ours only the tree that is in use: those of before are no half upgrade.
_FOLDERS = (*FOLDERS, "/lib/x86_64-linux-gnu", f"{CURRENT}/lib")
LIBRARIES = ("libcuda", "libnvidia-ml")
_NAMED = re.compile(rf"(libcuda|libnvidia-ml)\.so\.({VERSION})")
_MOST_LINKS = 40
_MOST_NAMES = 50_000


def versions(root: str) -> dict[str, list[str]]:
    """Versions of each library below `root`, such as `/proc/<init>/root`, in order; none: absent.

    More than one is half an upgrade.
    """
    found: dict[str, set[str]] = {}
    for folder in _FOLDERS:
        real = inside(root, folder)
        for name in _names(real) if real else []:
            named = _NAMED.fullmatch(name)
            if named and _is_file(f"{real}/{name}"):
                found.setdefault(named[1], set()).add(named[2])
    return {library: sorted(found[library]) for library in LIBRARIES if library in found}


def inside(root: str, path: str) -> str:
    """The path on the node of `path` in that root, its links followed as the container sees them.

    Empty: it is not there, or its links go round in circles.
    """
    left = path.strip("/").split("/")
    done: list[str] = []
    links = 0
    while left:
        part = left.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            done = done[:-1]
            continue
        here = "/".join([root, *done, part])
        try:
            target = os.readlink(here)
        except FileNotFoundError:
            return ""
        except OSError:  # no link
            done.append(part)
            continue
        links += 1
        if links > _MOST_LINKS:
            return ""
        done = [] if target.startswith("/") else done
        left = target.split("/") + left
    return "/".join([root, *done])


def _names(folder: str) -> list[str]:
    names = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) >= _MOST_NAMES:
                    break
    except OSError:
        return []
    return names


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
