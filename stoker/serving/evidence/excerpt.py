"""SGLang's own lines of what it took and that it was ready, out of a start's log."""

from collections.abc import Iterable

_WORDS = (
    "Load weight end",
    "KV Cache is allocated",
    "Mamba Cache is allocated",
    "Memory pool end",
    "Capture cuda graph end",
    "max_total_num_tokens=",
    "The server is fired up and ready to roll",
)
"""In the order of a start. Texts of 0.5.6 to 0.5.23."""
MOST_CHARS = 400


def excerpt(lines: Iterable[str]) -> tuple[str, ...]:
    """The first line of each kind, in the order of the log; several ranks write the same."""
    left, found = list(_WORDS), list[str]()
    for line in lines:
        # Its arguments name them all, and hold what nobody wants to keep.
        word = next((word for word in left if word in line and "server_args=" not in line), None)
        if word:
            left.remove(word)
            found.append(line.strip()[:MOST_CHARS])
    return tuple(found)
