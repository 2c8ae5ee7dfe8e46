"""GPUs by the name that a machine or a person gives them: how much memory, and how much is free."""

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

from stoker.serving.checking.question import Gpus

_MIB_OF_A_SOLD_GB = 1020
_ROWS = Path(__file__).parent / "data" / "cards.json"


@dataclass(frozen=True)
class Card:
    """A row of `data/cards.json`, whose `about` says what the figures are."""

    name: str
    memory_mib: int
    family: str
    """workstation, nvlink, amd, or unified: its memory is the machine's own."""
    held_gib: float
    rank_gib: float
    source: str


@functools.cache
def card(kind: str | None) -> Card | None:
    """The row for a GPU's name; None: nobody knows that card."""
    told = " ".join(re.split(r"[^a-z0-9]+", (kind or "").lower()))
    for row in _cards():
        name = " ".join(re.split(r"[^a-z0-9]+", row.name))
        if re.search(rf"(?:^| ){re.escape(name)}(?:$|[^0-9])", told):
            return row
    return None


def memory_mib(gpus: Gpus) -> int | None:
    """All of one GPU's memory, MiB: as told, else by its kind; None: unknown.

    Of a kind that is only a size ("24GB card") it is what such cards have, within 1 %.
    """
    if gpus.memory_mib or (found := card(gpus.kind)) is None:
        size = re.search(r"(\d+) ?gi?b", (gpus.kind or "").lower())
        return gpus.memory_mib or (int(size[1]) * _MIB_OF_A_SOLD_GB if size else None)
    return found.memory_mib


def free_gib(gpus: Gpus, ranks: int) -> tuple[float, bool] | None:
    """(GiB free on one GPU before the weights, whether that is an estimate); None: unknown.

    `ranks`: processes of the server, a GPU each. The share of the CUDA context and of NCCL is
    taken from logs of the same kind of card; unknown kinds get 1 GiB and 0.2 more a rank.
    """
    if gpus.free_gib is not None:
        return gpus.free_gib, False
    total = memory_mib(gpus)
    if total is None:
        return None
    found = card(gpus.kind)
    held, more = (found.held_gib, found.rank_gib) if found else (1.0, 0.2)
    return total / 1024 - held - more * (min(ranks, 8) - 1), True


def is_amd(gpus: Gpus) -> bool:
    """Whether the card is known to be AMD's."""
    return (found := card(gpus.kind)) is not None and found.family == "amd"


@functools.cache
def _cards() -> tuple[Card, ...]:
    return tuple(Card(**row) for row in json.loads(_ROWS.read_text(encoding="utf-8"))["cards"])
