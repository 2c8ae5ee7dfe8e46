"""What the driver says a GPU needs: by number (NVML, Xid 154) and by word (nvidia-smi)."""

from __future__ import annotations

from stoker.health import tables


def number(word: str) -> int | None:
    """NVML's number of nvidia-smi's word; None: an unknown word, which is for a human."""
    known = {row["smi"].lower(): int(row["number"]) for row in tables.rows("recovery_actions")}
    return known.get(word.lower()) if word else None


def ceiling(action: int | None) -> str:
    """How far the ladder may climb for it, in the words of `xids.Row.ceiling`; unknown: `human`."""
    known = {row["number"]: str(row["ceiling"]) for row in tables.rows("recovery_actions")}
    return known.get(action, "human")


def meaning(action: int | None) -> str:
    """What it asks for, in words."""
    known = {row["number"]: str(row["meaning"]) for row in tables.rows("recovery_actions")}
    return known.get(action, "unknown to us; see NVIDIA's documents of this driver")
