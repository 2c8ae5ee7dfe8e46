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


def shown(text: str, width: int) -> str:
    """One line of at most `width` letters, without what would move a terminal's cursor."""
    clean = "".join(letter if letter.isprintable() else "\N{MIDDLE DOT}" for letter in text)
    return clean if len(clean) <= width else clean[: width - 3] + "..."
