"""The machine's own Debian archives, as sources for an image of this or another release."""

import re
from dataclasses import dataclass
from pathlib import Path

from stoker.refused import Refused

_ONE_LINE = re.compile(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+(.+)")


@dataclass(frozen=True)
class Archive:
    """One address with the suites that are taken from it."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


def _from_stanzas(text: str) -> list[Archive]:
    found = []
    for stanza in re.split(r"\n\s*\n", text):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        pairs = dict(line.split(":", 1) for line in lines if re.match(r"[A-Za-z-]+:", line))
        fields = {key.lower(): value.split() for key, value in pairs.items()}
        if "deb" not in fields.get("types", []) or fields.get("enabled") == ["no"]:
            continue
        for uri in fields.get("uris", []):
            suites, components = fields.get("suites", []), fields.get("components", [])
            found.append(Archive(uri, tuple(suites), tuple(components)))
    return found


def _from_lines(text: str) -> list[Archive]:
    matches = (_ONE_LINE.match(line.split("#")[0].strip()) for line in text.splitlines())
    return [Archive(m[1], (m[2],), tuple(m[3].split())) for m in matches if m]


def archives(apt: Path, codename: str) -> list[Archive]:
    """The binary archives under `apt` (/etc/apt) that carry suites of the release `codename`.

    Third parties' archives name no such suite, or are not wanted in an image, and are left out.
    """
    found: list[Archive] = []
    for path in sorted([apt / "sources.list", *(apt / "sources.list.d").glob("*")]):
        if path.suffix == ".sources":
            found += _from_stanzas(path.read_text())
        elif path.suffix == ".list" and path.exists():
            found += _from_lines(path.read_text())
    ours = [a for a in found if any(_release(suite) == codename for suite in a.suites)]
    ours = [a for a in ours if "main" in a.components]
    if not ours:
        raise Refused(
            f"cannot build an image: {apt} names no archive of Debian {codename}; "
            "give this machine its release's sources and run it again"
        )
    return ours


def _release(suite: str) -> str:
    return suite.split("-")[0].split("/")[0]


def rendered(archives: list[Archive], codename: str, wanted: str) -> str:
    """The same archives as deb822 stanzas for the release `wanted`."""
    return "\n".join(
        "Types: deb\n"
        f"URIs: {archive.uri}\n"
        f"Suites: {' '.join(suite.replace(codename, wanted, 1) for suite in archive.suites)}\n"
        "Components: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
        for archive in archives
    )
