"""How `nvidia-smi -r -i <GPU>` ended, from its words: 0 alone is no proof, and 255 may be any."""

from __future__ import annotations

import re

# State -> what tells it; the first that fits. `unstable` before all: it may stand beside the rest.
_TEXTS = (
    ("unstable", r"did not complete reset successfully"),
    ("in-use", r"in use by another (?:process|client)|being used by one or more other processes"),
    ("peers", r"must be reset together|append the following device ind"),
    (
        "unsupported",
        r"is not supported|is the primary gpu|is in vgpu mode|mode change in flight"
        r"|reset unavailable|couldn't run",
    ),
    ("denied", r"insufficient permissions"),
    ("failed", r"could not be reset"),
)
_DONE = r"was successfully reset"


def outcome(code: int | None, said: str) -> str:
    """`reset`, `in-use` (somebody has it open), `peers` (only together with others),
    `unsupported`, `unstable` (the host must be rebooted), `denied`, `failed`, `hung` (a `code` of
    None: it did not end in time), `unknown`."""
    if code is None:
        return "hung"
    text = said[:20_000]
    for state, words in _TEXTS:
        if re.search(words, text, re.IGNORECASE):
            return state
    if code == 0 and re.search(_DONE, text, re.IGNORECASE):
        return "reset"
    return "unknown"
