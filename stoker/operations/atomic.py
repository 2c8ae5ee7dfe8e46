"""Files that appear whole, with their mode from the first byte."""

from collections.abc import Iterator
from io import BytesIO, StringIO
from pathlib import PurePosixPath
from typing import IO

from pyinfra.api import FileUploadCommand, QuoteString, StringCommand
from pyinfra.api.command import PyinfraCommand

from stoker.serving.rendering import File


def written(file: File) -> Iterator[PyinfraCommand]:
    """The commands that put this file there, root's. A run that dies leaves the old one whole."""
    yield from _placed(file.path, file.mode, StringIO(file.text))


def written_bytes(path: PurePosixPath, data: bytes, mode: int) -> Iterator[PyinfraCommand]:
    """The same for bytes."""
    yield from _placed(path, mode, BytesIO(data))


def _placed(
    path: PurePosixPath, mode: int, content: IO[str] | IO[bytes]
) -> Iterator[PyinfraCommand]:
    beside = f"{path}.stoker-new"
    yield StringCommand("install", "-d", "-m", "0755", "--", QuoteString(str(path.parent)))
    # Made empty first: an upload keeps the mode of the file it fills, so a secret is never open.
    yield StringCommand("install", "-m", f"{mode:04o}", "--", "/dev/null", QuoteString(beside))
    yield FileUploadCommand(content, beside)
    # -T: into a directory of that name it would go, and nobody would miss the file.
    yield StringCommand("mv", "-fT", "--", QuoteString(beside), QuoteString(str(path)))
