"""Evidence as it is kept: in a file beside the flag sets of whoever deploys."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyinfra.api import OperationError

from stoker.refused import Refused
from stoker.serving.evidence import file
from stoker.serving.evidence.checked import Checked
from stoker.serving.evidence.record import Proof, Record
from stoker.serving.unit import Unit

FLAGSETS = Path("group_data/flagsets")
"""Of the working directory, as the roles have it."""


def record(
    host: Any, unit: Unit, checked: Checked, proof: Proof, flagsets: Path = FLAGSETS
) -> Path | None:
    """The evidence file with this proof in it; None if the proof was not a full one.

    Raises `OperationError` if it cannot be kept: the server serves all the same.
    """
    if not proof.full:
        return None
    new = Record(
        date=datetime.now(UTC).replace(microsecond=0),
        machine=f"{host.name}, {unit.name}",
        fingerprint=checked.fingerprint,
        figures=proof.figures,
        ran=proof.ran,
        log=proof.log,
    )
    name, path = checked.flagset.name, file.path_of(flagsets, checked.flagset.name)
    try:
        path.parent.mkdir(exist_ok=True)
        with _alone(path.parent):
            kept = file.merged(file.load(flagsets, name), new)
            replaced(path, file.text_of(name, kept))
    except (OSError, Refused) as error:
        raise OperationError(
            f"cannot keep the evidence of {name}, which serves: {_why(error)}; "
            "correct that, and have it measured again with --data candidate=yes"
        ) from error
    return path


def replaced(path: Path, text: str) -> None:
    """The file has this text, or after a death in between still its old one. Nobody else may write
    meanwhile."""
    beside = path.with_name(f".{path.name}.new")
    with beside.open("w", encoding="utf-8") as half:
        half.write(text)
        half.flush()
        os.fsync(half.fileno())
    beside.replace(path)


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Nobody else adds a record meanwhile: it would be lost."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # By itself: gevent, where it has patched `os`, closes a directory only later.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split("\n"))
