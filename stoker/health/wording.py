"""Times and foreign text for a terminal."""

from __future__ import annotations


def age(seconds: float) -> str:
    """How long, in the two largest units; a clock that went back gives `0 s`."""
    left = max(0, int(seconds))
    parts: list[str] = []
    for name, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, length)
        if count or parts or name == "s":
            parts.append(f"{count} {name}")
    return " ".join(parts[:2])


def printable(text: str, also: str = "") -> str:
    """The text with a dot for each letter that prints nothing, such as what moves a cursor.

    `also`: letters that stay all the same.
    """
    return "".join(c if c.isprintable() or c in also else "\N{MIDDLE DOT}" for c in text)


def shown(text: str, width: int) -> str:
    """One line of at most `width` letters, without what would move a terminal's cursor."""
    clean = printable(text)
    return clean if len(clean) <= width else clean[: width - 3] + "..."
