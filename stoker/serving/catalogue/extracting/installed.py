"""What the SGLang of a venv knows, as one line of JSON; runs in the container by the venv's Python.

A venv does not change, so the catalogue is kept inside it. It is made anew when the extractor, or
any file of SGLang's that tells of options, is another one: somebody may have installed over it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Iterator, List, Optional, Sequence

from stoker.serving.catalogue.extracting.extract import Document, extracted, lines
from stoker.serving.catalogue.extracting.source import NoSglang

KEPT = "stoker-catalogue.json"
"""In the venv's `lib`: the venv's own directory keeps the time at which it was made."""


def told(venv: Path, extractor: str, recorded: Sequence[str]) -> Document:
    """Version and digest, and the whole catalogue unless its digest is one of `recorded`.

    `extractor` names this program: what another one kept is not taken. Raises NoSglang.
    """
    folder = site_packages(venv)
    mark = hashlib.sha256("\n".join([extractor, *_stamps(folder)]).encode()).hexdigest()
    document = _kept(venv, mark) or _made(venv, folder, mark)
    whole = {} if document["digest"] in recorded else {"catalogue": document}
    return {"sglang": document["sglang"], "digest": document["digest"], **whole}


def site_packages(venv: Path) -> Path:
    """The folder with SGLang in it. Raises NoSglang."""
    for folder in sorted(venv.glob("lib/python3*/site-packages")):
        if (folder / "sglang").is_dir():
            return folder
    raise NoSglang(f"no sglang in {venv}")


def _stamps(folder: Path) -> Iterator[str]:
    srt = folder / "sglang" / "srt"
    files = [srt / "server_args.py", srt / "environ.py", *srt.glob("arg_groups/**/*.py")]
    for path in sorted([*files, *folder.glob("sglang-*.dist-info/RECORD")]):
        if path.exists():
            seen = path.stat()
            yield f"{path} {seen.st_size} {seen.st_mtime_ns}"


def _kept(venv: Path, mark: str) -> Optional[Document]:
    try:
        found = json.loads((venv / "lib" / KEPT).read_text())
        return dict(found) if found["mark"] == mark and found["digest"] else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _made(venv: Path, folder: Path, mark: str) -> Document:
    document = {**extracted(folder), "mark": mark}
    beside = venv / "lib" / f".{KEPT}.{os.getpid()}"
    try:
        beside.write_text(lines(document))
        os.replace(beside, venv / "lib" / KEPT)
    except OSError:
        pass  # a read-only venv: it is made again the next time
    return document


def main(words: List[str]) -> int:
    """`VENV EXTRACTOR DIGEST...`; without SGLang nothing is printed."""
    venv, extractor, *recorded = words
    try:
        print(json.dumps(told(Path(venv), extractor, recorded), separators=(",", ":")))
    except (NoSglang, SyntaxError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0
