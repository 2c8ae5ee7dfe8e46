"""Pinned tools, fetched once to the machine that Stoker runs from."""

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path

from stoker.refused import Refused
from stoker.serving.tools import Tool

_ONE_AT_A_TIME = threading.Lock()


def cache() -> Path:
    """Where tools are kept: `~/.cache/stoker`, or below `$XDG_CACHE_HOME`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stoker"


def placed(tool: Tool) -> Path:
    """The file of the tool that goes to a host, its hash checked; Refused when it cannot be had."""
    kept = cache() / f"{tool.name}-{tool.version}" / (Path(tool.member or tool.file).name)
    with _ONE_AT_A_TIME:
        if not kept.exists() or _sha256(kept) != tool.placed_sha256:
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
                _member(tool, _download(tool, Path(folder))).replace(kept)
    return kept


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(tool: Tool, folder: Path) -> Path:
    """The wheel, fetched by pip with its hash; pip's own configuration says from where."""
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{tool.requirement}\n")
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    words += ["--no-deps", "--require-hashes", "--only-binary=:all:", "--python-version", "3.11"]
    words += ["--platform", "manylinux_2_17_x86_64", "--platform", "manylinux2014_x86_64"]
    words += ["--requirement", str(wanted), "--dest", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2] or "nothing"
        raise Refused(
            f"cannot fetch {tool.name} {tool.version}: pip on this machine says {said}; "
            f"put {tool.file} where pip finds it (PIP_FIND_LINKS), or give pip an index"
        )
    return folder / tool.file


def _member(tool: Tool, wheel: Path) -> Path:
    """The file of the wheel that is placed, hash checked."""
    if tool.member is None:
        return wheel
    with zipfile.ZipFile(wheel) as archive:
        found = Path(archive.extract(tool.member, wheel.parent))
    if _sha256(found) != tool.placed_sha256:
        raise Refused(
            f"cannot use {tool.file}: {tool.member} has another hash than locks/tools.yaml says; "
            f"correct `{tool.name}` there"
        )
    return found
