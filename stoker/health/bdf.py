"""PCI addresses, which every source writes in its own way."""

from __future__ import annotations

import re

_ADDRESS = re.compile(
    r"(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2}):(?P<device>[0-9a-f]{2})"
    r"(?:\.(?P<function>[0-7]))?",
    re.IGNORECASE,
)


def normal(text: str) -> str:
    """The address as sysfs writes it, `0000:01:00.0`; ValueError if it is none.

    NVML writes a domain of eight digits in upper case, an Xid leaves the function out.
    """
    found = _ADDRESS.fullmatch(text.strip())
    if not found:
        raise ValueError(f"cannot read a PCI address: {text[:40]!r} is none")
    domain = int(found["domain"] or "0", 16)
    tail = f"{found['bus']}:{found['device']}.{found['function'] or '0'}".lower()
    return f"{domain:04x}:{tail}"
