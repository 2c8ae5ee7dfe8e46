"""Files that appear whole, with their mode from the first byte."""

from collections.abc import Iterator
from io import StringIO

from pyinfra.api import FileUploadCommand, QuoteString, StringCommand
from pyinfra.api.command import PyinfraCommand

from stoker.serving.rendering import File


def written(file: File) -> Iterator[PyinfraCommand]:
    """The commands that put this file there, root's. A run that dies leaves the old one whole."""
    beside = f"{file.path}.stoker-new"
    yield StringCommand("install", "-d", "-m", "0755", "--", QuoteString(str(file.path.parent)))
    # Made empty first: an upload keeps the mode of the file it fills, so a secret is never open.
    yield StringCommand("install", "-m", f"{file.mode:04o}", "--", "/dev/null", QuoteString(beside))
    yield FileUploadCommand(StringIO(file.text), beside)
    # -T: into a directory of that name it would go, and nobody would miss the file.
    yield StringCommand("mv", "-fT", "--", QuoteString(beside), QuoteString(str(file.path)))
