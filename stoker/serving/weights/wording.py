"""How a message names several things, and the one class of what is wrong with a draft."""

from collections.abc import Sequence

from stoker.serving.checking.reason import Reason

_LISTED = 3
"""Names in a sentence; of more, the number."""


def listed(names: Sequence[str], count: int | None = None) -> str:
    """`a, b, c and 5 more`; `count`: how many there are in all, if these are only some."""
    shown = names[:_LISTED]
    more = (len(names) if count is None else count) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def mismatch(message: str, hint: str) -> Reason:
    """A draft that cannot be one for this target, algorithm or SGLang."""
    return Reason("draft_mismatch", "refuse", message, hint)
