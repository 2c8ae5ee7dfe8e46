"""Stand-in: the text of a container's configuration file, read and written as Proxmox does.

`key: value` lines, `#` lines at the top as the description, raw `lxc.*` lines after the keys, then
the sections `[pve:pending]` and `[snapshot name]`. Pure: no file is touched here.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Dict, List, Tuple
from urllib.parse import quote, unquote

from . import schema

SECTION = re.compile(r"\[(pve:pending|[a-z][a-z0-9_-]+)\]\s*", re.IGNORECASE)
RAW = re.compile(r"(lxc\.[a-z0-9_.-]+)(?::|\s*=)\s*(.*?)\s*", re.IGNORECASE)
PLAIN = re.compile(r"([a-z][a-z_]*\d*):\s*(.+?)\s*")
ENV_KEY = "lxc.environment.runtime"


@dataclass
class Section:
    """The keys of one section, with its raw lxc lines in order; `env` is among the keys."""

    keys: Dict[str, str] = field(default_factory=dict)
    raw: List[Tuple[str, str]] = field(default_factory=list)


@dataclass
class Config:
    """One container's configuration: what holds now, what is pending, and its snapshots."""

    now: Section = field(default_factory=Section)
    pending: Section = field(default_factory=Section)
    snapshots: Dict[str, Section] = field(default_factory=dict)
    digest: str = ""
    warnings: List[str] = field(default_factory=list)

    @property
    def pending_deletes(self) -> List[str]:
        """Keys that the next start drops."""
        listed = self.pending.keys.get("delete", "")
        return [name.lstrip("!") for name in re.split(r"[,; ]+", listed) if name]

    def set_pending_deletes(self, names: List[str]) -> None:
        """Replace the list of keys that the next start drops; an empty one drops the line."""
        self.pending.keys.pop("delete", None)
        if names:
            self.pending.keys["delete"] = ",".join(sorted(set(names)))


def parse(text: str, vmid: int) -> Config:
    """The configuration in a file's text; a line that means nothing becomes a warning."""
    config = Config(digest=hashlib.sha1(text.encode()).hexdigest())
    section = config.now
    description: List[str] = []

    def close() -> None:
        if description:
            section.keys["description"] = "\n".join(description).rstrip()
            description.clear()

    for line in text.split("\n"):
        header = SECTION.fullmatch(line)
        if header:
            close()
            name = header.group(1)
            if name.lower() == "pve:pending":
                section = config.pending
            else:
                section = config.snapshots.setdefault(name, Section())
        elif line.startswith("#"):
            description.append(unquote(line[1:]))
        elif line.strip():
            warning = _add(section, line)
            if warning:
                config.warnings.append(f"vm {vmid} - {warning}")
    close()
    return config


def _add(section: Section, line: str) -> str:
    raw = RAW.fullmatch(line)
    if raw and raw.group(1) == ENV_KEY:
        before = section.keys.get("env")
        section.keys["env"] = raw.group(2) if before is None else f"{before}\0{raw.group(2)}"
        return ""
    if raw:
        section.raw.append((raw.group(1), raw.group(2)))
        return ""
    plain = PLAIN.fullmatch(line)
    if not plain:
        return f"unable to parse config: {line}"
    name, value = plain.groups()
    if schema.find(name) is None and name not in schema.INTERNAL:
        return f"unable to parse value of '{name}' - unknown setting '{name}'"
    complaint = schema.complaint(name, value)
    if complaint:
        return f"unable to parse value of '{name}' - {complaint}"
    section.keys[name] = unquote(value) if name == "description" else value
    return ""


def render(config: Config) -> str:
    """The file's text; unknown lines of the text it was parsed from are gone, as in Proxmox."""
    parts = [_render(config.now)]
    if config.pending.keys or config.pending.raw:
        parts.append("[pve:pending]\n" + _render(config.pending))
    parts += [f"[{name}]\n" + _render(config.snapshots[name]) for name in sorted(config.snapshots)]
    return "\n".join(parts)


def _render(section: Section) -> str:
    lines = [f"#{encode(line)}" for line in _description_lines(section)]
    ordinary = sorted(set(section.keys) - {"description", "env"})
    lines += [f"{name}: {section.keys[name]}" for name in ordinary]
    lines += [f"{name}: {value}" for name, value in section.raw]
    if "env" in section.keys:
        lines += [f"{ENV_KEY}: {pair}" for pair in section.keys["env"].split("\0")]
    return "".join(line + "\n" for line in lines)


def _description_lines(section: Section) -> List[str]:
    text = section.keys.get("description", "").rstrip()
    return text.split("\n") if text else []


def encode(text: str) -> str:
    """Text as PVE::Tools::encode_text has it: control characters, `%` and `:` percent-encoded."""
    return quote(text, safe=" !\"#$&'()*+,-./;<=>?@[\\]^_`{|}~")
