"""What nvidia-smi says when it cannot answer, on either stream, and what each exit code means.

Texts are those of the binaries 550 to 595, matched without case on the part that stays the same.
"""

from __future__ import annotations

import re

from stoker.health import bdf

# State -> what tells it; the first that fits.
_TEXTS = (
    ("mismatch", r"driver/library version mismatch"),
    ("not-loaded", r"couldn't communicate with the nvidia driver|nvml: driver not loaded"),
    ("no-library", r"couldn't find libnvidia-ml\.so|nvml: shared library not found"),
    (
        "lost",
        r"unable to determine the device handle|gpu is lost|gpu requires reset|fallen off the bus",
    ),
    ("no-devices", r"no devices were found"),
    ("denied", r"insufficient permissions|failed to initialize nvml: unknown error"),
    ("missing", r"nvidia-smi: (?:command )?not found|nvidia-smi.{0,40}no such file or directory"),
)
_CODES = {
    4: "denied",
    6: "no-devices",
    9: "not-loaded",
    12: "no-library",
    15: "lost",
    16: "lost",
    17: "denied",
    18: "mismatch",
    124: "hung",
    127: "missing",
    137: "hung",
}
_HANDLE = re.compile(
    r"device handle for gpu ?(?:\d{1,3}: ?)?(?P<bdf>[0-9a-f]{4,8}:[0-9a-f:.]{5,7}): (?P<error>.*)",
    re.IGNORECASE,
)


def first_line(said: str) -> str:
    """The first line with anything on it, at most 300 characters of it."""
    return next((line.strip() for line in said.splitlines() if line.strip()), "")[:300]


def state_by_text(said: str) -> str:
    """The state that the words tell, as `seen.Smi.state` names it; empty: none."""
    return next((state for state, text in _TEXTS if re.search(text, said, re.IGNORECASE)), "")


def state_by_code(code: int) -> str:
    """The state that the exit code alone tells."""
    return _CODES.get(code, "unknown")


def lost(said: str) -> dict[str, str]:
    """What was said of GPUs that could not be opened, by PCI address: `GPU is lost` ..."""
    found = {}
    for line in said[:20_000].splitlines():
        match = _HANDLE.search(line)
        if match:
            found[bdf.normal(match["bdf"])] = match["error"].strip()
    return found
