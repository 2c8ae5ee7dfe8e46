"""`diagnose.pyz`: diagnosis and what of health it needs, as one file for a container.

python3 -m stoker.diagnosis.bundle diagnose.pyz

A distribution's Python is /usr/bin/python3.11 there and often nothing else, so the file begins as
a shell script that finds one; Python reads the archive from its end and does not mind.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from stoker.zipped import zipped

STOKER = Path(__file__).parent.parent
ALSO = ("__init__.py", "recovery/__init__.py", "recovery/replacing.py", "health/__init__.py")
"""Beside diagnosis and the classifier."""
HEALTH = ("redaction",)
"""Modules of health itself that the classifier or diagnosis imports."""
_SHELL = b"""\
#!/bin/sh
for python in /usr/bin/python3 /usr/bin/python3.[0-9]*; do
    [ ! -x "$python" ] || exec "$python" -I -S "$0" "$@"
done
echo "cannot diagnose: there is no /usr/bin/python3 or python3.N; install one" >&2
exit 127
"""
_MAIN = b"""\
import sys

from stoker.diagnosis.__main__ import main

sys.exit(main())
"""


@functools.cache
def contents() -> bytes:
    """The file's bytes: the same for the same sources."""
    return _SHELL + zipped(_files())


def digest() -> str:
    """SHA-256 of the file, hexadecimal."""
    return hashlib.sha256(contents()).hexdigest()


def _files() -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _MAIN
    paths = [STOKER / name for name in ALSO]
    paths += [STOKER / "health" / f"{name}.py" for name in HEALTH]
    for package in ("diagnosis", "health/crash"):
        found = (STOKER / package).rglob("*")
        # The rows' sources (YAML) stay at home: what is loaded is the table made of them.
        paths += [path for path in found if path.suffix in (".py", ".json")]
    for path in paths:
        if path != Path(__file__):
            yield f"stoker/{path.relative_to(STOKER).as_posix()}", path.read_bytes()


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(contents())
    Path(sys.argv[1]).chmod(0o755)
