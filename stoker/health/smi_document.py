"""The XML of `nvidia-smi -q -x` as elements, and how its values are told from placeholders."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET


class Garbled(Exception):  # noqa: N818 - it reads as what happened
    """The document is not whole: nvidia-smi was ended while it wrote, or wrote something else."""


# What stands where a value cannot be told, without brackets and case.
_PLACEHOLDERS = {
    "",
    "n/a",
    "not supported",
    "not available",
    "insufficient permissions",
    "unknown error",
    "gpu is lost",
    "gpu requires reset",
    "not found",
    "err!",
    "requested functionality has been deprecated",
}
_NUMBER = re.compile(r"(\d{1,9})(?: ?(?:MiB|%))?")
_END = "</nvidia_smi_log>"
# Characters that no XML document may hold, wherever a process name got them from.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BARE_AND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")

# A process may call itself anything, and must not make the rest unreadable.
_NAME = re.compile(r"(<process_name>)(.{0,4096}?)(</process_name>\s*<used_memory>)", re.DOTALL)


def split(text: str) -> tuple[str, str]:
    """What stands before the document, and the document; both may be empty."""
    starts = [place for place in (text.find("<?xml"), text.find("<nvidia_smi_log")) if place >= 0]
    start = min(starts, default=len(text))
    return text[:start], text[start:]


def root(text: str) -> ET.Element:
    """The document in what nvidia-smi wrote; Garbled if it is not whole."""
    _, document = split(text)
    if not document.strip():
        raise Garbled("cannot read nvidia-smi's document: there is none; look at its other output")
    end = document.rfind(_END)
    if end < 0:
        raise Garbled(
            f"cannot read nvidia-smi's document: it ends after {len(document)} characters without "
            f"{_END}; ask again"
        )
    if "<!ENTITY" in document:
        raise Garbled("cannot read nvidia-smi's document: it defines entities; see who wrote it")
    clean = _BARE_AND.sub("&amp;", _FORBIDDEN.sub("\ufffd", document[: end + len(_END)]))
    try:
        return ET.fromstring(clean)
    except ET.ParseError as error:
        try:
            return ET.fromstring(_NAME.sub(_plain, clean))
        except ET.ParseError:
            raise Garbled(f"cannot read nvidia-smi's document: {error}; ask again") from None


def _plain(name: re.Match[str]) -> str:
    text = name[2].replace("&#", "&amp;#").replace("<", "&lt;").replace(">", "&gt;")
    return f"{name[1]}{text}{name[3]}"


def bare(text: str | None) -> str:
    """Text without space around it and without the brackets of a placeholder."""
    told = (text or "").strip()
    return told[1:-1] if told.startswith("[") and told.endswith("]") else told


def said(element: ET.Element, path: str) -> str:
    """The text at `path`; empty where a placeholder stands or the tag is missing."""
    text = (element.findtext(path) or "").strip()
    return "" if bare(text).lower() in _PLACEHOLDERS else text


def number(element: ET.Element, path: str) -> int | None:
    """The whole number at `path`, its unit left out; None where it is not one."""
    found = _NUMBER.fullmatch(said(element, path))
    return int(found[1]) if found else None


def switch(element: ET.Element, path: str) -> bool | None:
    """Whether `path` says Enabled; None where it says neither that nor Disabled."""
    return {"Enabled": True, "Disabled": False}.get(said(element, path))
