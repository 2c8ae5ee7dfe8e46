"""A container's configuration as Proxmox keeps it: what holds, what waits for a restart."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

_SECTION = re.compile(r"\[([^\]]+)\]\s*")
_RAW = re.compile(r"(lxc\.[a-z0-9_.-]+)(?:\s*:\s*|\s*=\s*)(.*)", re.IGNORECASE)
_PLAIN = re.compile(r"([a-z][a-z_-]*\d*):\s*(.*)")
PENDING = "pve:pending"


@dataclass(frozen=True)
class Configuration:
    """One container's configuration file, `/etc/pve/nodes/<node>/lxc/<vmid>.conf`."""

    keys: Mapping[str, str] = field(default_factory=dict)
    """What holds now, as it is written there; `description` is the text that its `#` lines are."""
    raw: tuple[tuple[str, str], ...] = ()
    """Name, in lower case, and value of each `lxc.*` line, in order."""
    pending: Mapping[str, str] = field(default_factory=dict)
    """What the next start brings."""
    deletes: tuple[str, ...] = ()
    """Keys that the next start takes away."""
    snapshots: tuple[str, ...] = ()
    digest: str = ""
    """SHA-1 of the file, which Proxmox compares before it writes."""
    unfinished: tuple[str, ...] = ()
    """Snapshots whose taking or removal was cut off; empty where the API told the rest."""

    @property
    def lock(self) -> str:
        """Proxmox's `lock:` (backup, create, migrate ...); empty: none."""
        return self.keys.get("lock", "")

    @property
    def coming(self) -> Mapping[str, str]:
        """The keys after the next start. One that is both changed and deleted keeps the changed
        value, as measured."""
        left = {key: value for key, value in self.keys.items() if key not in self.deletes}
        return {**left, **self.pending}


def parse(text: str) -> Configuration:
    """The configuration in a file's text; a line that means nothing is left out. Bytes that are no
    UTF-8 are surrogates in it, so that the digest is the file's."""
    digest = hashlib.sha1(text.encode("utf-8", "surrogateescape")).hexdigest()
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    sections: dict[str, dict[str, str]] = {"": {}}
    raw: list[tuple[str, str]] = []
    here = ""
    for line in text.split("\n"):
        if section := _SECTION.fullmatch(line):
            here = section[1]
            sections.setdefault(here, {})
        elif line.startswith("#"):
            told = sections[here].get("description")
            piece = unquote(line[1:])
            sections[here]["description"] = piece if told is None else f"{told}\n{piece}"
        elif lxc := _RAW.fullmatch(line):
            if not here:
                raw.append((lxc[1].lower(), lxc[2].strip()))
        elif plain := _PLAIN.fullmatch(line):
            sections[here][plain[1]] = _value(plain[1], plain[2].strip())
    pending = dict(sections.get(PENDING, {}))
    deletes = re.split(r"[,; ]+", pending.pop("delete", ""))
    return Configuration(
        keys=sections[""],
        raw=tuple(raw),
        pending=pending,
        deletes=tuple(key.lstrip("!") for key in deletes if key),
        snapshots=tuple(name for name in sections if name not in ("", PENDING)),
        unfinished=tuple(name for name, keys in sections.items() if "snapstate" in keys),
        digest=digest,
    )


def _value(key: str, value: str) -> str:
    # Older versions wrote it as a key of its own.
    return unquote(value) if key == "description" else value
