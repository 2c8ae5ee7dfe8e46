"""The pinned uv."""

from collections.abc import Generator

from pyinfra import host
from pyinfra.api import FileUploadCommand, QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.facts.uv import Uv
from stoker.operations.fetched import placed
from stoker.operations.refusal import refused
from stoker.refused import Refused
from stoker.serving import layout
from stoker.serving.tools import Tool

_PLACE = """
set -eu
echo "$1  $2.new" | sha256sum --check --quiet
chmod 0755 "$2.new"
mv -f "$2.new" "$2"
"""


@operation()
def present(tool: Tool) -> Generator[PyinfraCommand, None, None]:
    """uv of this version is at its place, brought from the machine that Stoker runs from."""
    if host.get_fact(Uv, version=tool.version) == tool.member_bytes:
        host.noop(f"uv {tool.version} is there")
        return
    path = layout.uv_path(tool.version)
    yield StringCommand("install", "-d", "-m", "0755", str(path.parent))
    try:
        source = placed(tool)
    except Refused as error:
        yield refused(error)
        return
    yield FileUploadCommand(str(source), f"{path}.new")
    words = (tool.placed_sha256, QuoteString(str(path)))
    yield StringCommand("sh", "-c", QuoteString(_PLACE), "sh", *words)
