"""The pinned tools that Stoker brings to a host: uv and pip, from `locks/tools.yaml`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stoker.refused import Refused


@dataclass(frozen=True)
class Tool:
    """A wheel by name and hash, and the file of it that is placed on a host."""

    name: str
    version: str
    file: str
    sha256: str
    member: str | None = None
    """Path of that file within the wheel; None: the wheel itself is placed."""
    member_bytes: int | None = None
    member_sha256: str | None = None

    @property
    def requirement(self) -> str:
        """A line of a requirements file, hash included."""
        return f"{self.name}=={self.version} --hash=sha256:{self.sha256}"

    @property
    def placed_sha256(self) -> str:
        """Hash of the file that is placed."""
        return self.member_sha256 or self.sha256


def _tool(path: Path, name: str, fields: Any) -> Tool:
    try:
        return Tool(name=name, **fields)
    except TypeError as error:
        raise Refused(
            f"cannot read {path}: `{name}`: {error}; compare with the other tool"
        ) from error


def load(path: Path) -> dict[str, Tool]:
    """The tools by name; Refused when a key is unknown or missing."""
    rows = yaml.safe_load(path.read_text())
    if not isinstance(rows, dict):
        raise Refused(f"cannot read {path}: it is no table of tools; name each tool as a key")
    return {name: _tool(path, name, fields) for name, fields in rows.items()}
