"""`diagnose.pyz`: diagnosis and what of ours it needs, as one file for a container.

python3 -m stoker.diagnosis.bundle diagnose.pyz

A distribution's Python is /usr/bin/python3.11 there and often nothing else, so the file begins as
a shell script that finds one; Python reads the archive from its end and does not mind.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from stoker.zipped import zipped

_HERE = Path(__file__)
STOKER = _HERE.parent.parent
ROOTS = ("diagnosis", "health/crash")
"""Packages that are in it whole; of others only the modules that these import."""
_SHELL = b"""\
#!/bin/sh
# A deploy may put a newer one in its place meanwhile, and Python reads the file bit by bit.
exec 9< "$0"
for python in /usr/bin/python3 /usr/bin/python3.[0-9]*; do
    [ ! -x "$python" ] || exec "$python" -I -S /proc/self/fd/9 "$@"
done
echo "cannot diagnose: there is no /usr/bin/python3 or python3.N; install one" >&2
exit 127
"""
_MAIN = b"""\
import sys

try:
    from stoker.diagnosis.__main__ import main

    code = main()
except Exception as error:
    print(f"cannot diagnose: {type(error).__name__}: {error}", file=sys.stderr)
    code = 0 if sys.argv[1:2] in (["died"], ["gave-up"]) else 1
sys.exit(code)
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
    # The rows' sources (YAML) stay at home: what is loaded is the table made of them.
    found = (path for root in ROOTS for path in (STOKER / root).rglob("*"))
    wanted = [path for path in found if path.suffix in (".py", ".json") and path != _HERE]
    taken: set[Path] = set()
    while wanted:
        path = wanted.pop()
        if path in taken:
            continue
        taken.add(path)
        yield f"stoker/{path.relative_to(STOKER).as_posix()}", path.read_bytes()
        if path.suffix == ".py":
            wanted += _imported(path)
            packages = (folder for folder in path.parents if folder.is_relative_to(STOKER))
            wanted += [folder / "__init__.py" for folder in packages]


def _imported(path: Path) -> Iterator[Path]:
    """The files of ours that this one imports."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stoker"):
            module = STOKER.joinpath(*(node.module or "").split(".")[1:])
            names = [module / f"{name.name}.py" for name in node.names]
            yield from (one for one in (module.with_suffix(".py"), *names) if one.is_file())


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(contents())
    Path(sys.argv[1]).chmod(0o755)
