"""SGLang's versions in their order."""

import re

_VERSION = re.compile(r"^(\d+(?:\.\d+)*)(?:(rc|\.post|\.dev)(\d+))?")
_STAGES = {".dev": -2, "rc": -1, None: 0, ".post": 1}


def key(version: str) -> tuple[tuple[int, ...], int, int]:
    """Sorts `0.5.9 < 0.5.12rc1 < 0.5.12 < 0.5.12.post1`; what is no version comes first."""
    found = _VERSION.match(version)
    if found is None:
        return (), 0, 0
    release = tuple(int(part) for part in found[1].split("."))
    return release, _STAGES[found[2]], int(found[3] or 0)
