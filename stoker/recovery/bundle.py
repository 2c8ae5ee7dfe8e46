"""`stoker.pyz`: health and recovery as one file that a bare python3 runs.

python3 -m stoker.recovery.bundle stoker.pyz

It is made and sent by the operator's machine, and holds what every node needs and nothing else:
these two packages, their tables, and the script that asks a server for a token. A node tells what
it saw of a crash, and classifies none: of `health/crash` only the words for that are in it.
"""

from __future__ import annotations

import argparse
import ast
import base64
import functools
import hashlib
import lzma
import os
import shlex
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from stoker.zipped import zipped

PYTHON = "/usr/bin/python3"
STOKER = Path(__file__).parent.parent
ASK_TOKEN = "stoker/recovery/data/ask_token.py"
"""Where the token's script lies in the file; in a checkout it is stoker/serving/inside's."""
TOLD = tuple(f"stoker/health/{name}.py" for name in ("evidence", "refusals", "costly"))
"""Modules whose functions' docstrings are the words of the ladder's rows."""
CRASH = "stoker/health/crash/"
TELLS = (f"{CRASH}__init__.py", f"{CRASH}death.py")
"""What a node needs of the classifier: the types of its own half."""
LONGEST_WORD = 128 * 1024
"""The kernel's limit of one word of a command line, in bytes (MAX_ARG_STRLEN)."""

_SHEBANG = b"#!/usr/bin/python3 -IS\n"
_MAIN = """\
import sys

from stoker.recovery.__main__ import main

sys.exit(main())
"""
# A file without a name, in memory: the zip importer opens it by its path, and nothing of the node's
# disk is touched. The words come after it, as after any program's name.
_BOOT = """
import base64,lzma,os,sys
m=os.memfd_create('stoker.pyz')
with open(m,'wb',closefd=False)as f:f.write(lzma.decompress(base64.b85decode('%s')))
sys.path.insert(0,'/proc/self/fd/%%d'%%m)
sys.argv[0]='stoker.pyz'
from stoker.recovery.__main__ import main
sys.exit(main())
"""


@functools.cache
def contents() -> bytes:
    """The file's bytes: the same for the same sources, wherever and whenever it is made."""
    return _SHEBANG + zipped(_files())


def digest() -> str:
    """SHA-256 of the file, hexadecimal."""
    return hashlib.sha256(contents()).hexdigest()


def command(words: Sequence[str]) -> str:
    """The shell command for a node that runs these words of `stoker.pyz` without any file there.

    All of it is in the command line, so that it needs no standard input: pyinfra's own `fact`
    command gives none. -I and -S: neither the environment nor anything installed has a say in it.
    """
    return shlex.join([PYTHON, "-I", "-S", "-c", _boot(), *words])


@functools.cache
def _boot() -> str:
    # Stored, then compressed as a whole: half the size of files compressed one by one.
    bare = ((name, _bare(data) if _silent(name) else data) for name, data in _files())
    packed = lzma.compress(zipped(bare, zipfile.ZIP_STORED), preset=9 | lzma.PRESET_EXTREME)
    boot = _BOOT.strip("\n") % base64.b85encode(packed).decode("ascii")
    if len(boot) >= LONGEST_WORD:
        raise ValueError(f"stoker.pyz has outgrown a command line: {len(boot)} bytes")
    return boot


def _silent(name: str) -> bool:
    """Whether a file's docstrings are for readers of the source alone; some are told as reasons."""
    return name.endswith(".py") and name not in TOLD


def _bare(source: bytes) -> bytes:
    """The same program without comments and docstrings, but a module's, which `--help` shows."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    return ast.unparse(tree).encode()


def _is_text(line: ast.stmt) -> bool:
    return (
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    )


def _files() -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _MAIN.encode()
    yield "stoker/__init__.py", (STOKER / "__init__.py").read_bytes()
    yield ASK_TOKEN, (STOKER / "serving" / "inside" / "ask_token.py").read_bytes()
    for package in ("health", "recovery"):
        for path in (STOKER / package).rglob("*"):
            name = "stoker/" + path.relative_to(STOKER).as_posix()
            if name.startswith(CRASH) and name not in TELLS:
                continue
            # The rows' sources (YAML) stay at home: what is loaded is the table made of them.
            if path.suffix in (".py", ".json") and path != Path(__file__) and name != ASK_TOKEN:
                yield name, path.read_bytes()


def main(words: Sequence[str] | None = None) -> int:
    """Write the file under the name given."""
    parser = argparse.ArgumentParser(prog="stoker.recovery.bundle", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=Path("stoker.pyz"))
    target = parser.parse_args(words).file
    beside = target.with_name(f".{target.name}.part")
    beside.write_bytes(contents())
    beside.chmod(0o755)
    os.replace(beside, target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
