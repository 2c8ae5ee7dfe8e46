"""What the kernel and nvidia-smi tell of each GPU, put together by UUID and PCI address."""

from __future__ import annotations

from typing import Mapping, Sequence

from stoker.health.seen import Gpu
from stoker.health.smi import SmiGpu
from stoker.recovery import baselines
from stoker.recovery.baselines import Learned
from stoker.recovery.cards import Card


def joined(
    cards: Sequence[Card],
    told: Sequence[SmiGpu],
    lost: Mapping[str, str],
    learned: Learned,
    version: str,
) -> tuple[Gpu, ...]:
    """Every GPU that one of both has, by PCI address; `lost`: errors by PCI address."""
    by_card = {card.bdf: card for card in cards}
    by_smi = {_place(gpu, cards): gpu for gpu in told}
    return tuple(
        _gpu(bdf, by_card.get(bdf), by_smi.get(bdf), lost.get(bdf, ""), learned, version)
        for bdf in sorted({*by_card, *by_smi} - {""})
    )


def uuids(gpus: Sequence[Gpu]) -> dict[int, str]:
    """UUID by minor, of those of which both are known."""
    return {gpu.minor: gpu.uuid for gpu in gpus if gpu.uuid and gpu.minor is not None}


def _place(gpu: SmiGpu, cards: Sequence[Card]) -> str:
    """Its PCI address; of one whose address nvidia-smi did not print, by its UUID."""
    same = (card.bdf for card in cards if card.uuid and card.uuid == gpu.uuid)
    return gpu.bdf or next(same, "")


def _gpu(
    bdf: str, card: Card | None, told: SmiGpu | None, lost: str, learned: Learned, version: str
) -> Gpu:
    uuid = (card and card.uuid) or (told and told.uuid) or ""
    minor = card.minor if card and card.minor is not None else (told.minor if told else None)
    limit, known = baselines.limit_mib(learned, uuid, version)
    return Gpu(
        uuid=uuid,
        bdf=bdf,
        minor=minor,
        index=told.index if told else None,
        name=(told and told.name) or (card and card.name) or "",
        binding=card.binding if card else "",
        total_mib=told.total_mib if told else None,
        reserved_mib=told.reserved_mib if told else None,
        used_mib=told.used_mib if told else None,
        baseline_mib=limit,
        baseline_learned=known,
        utilization_pct=told.utilization_pct if told else None,
        persistence=told.persistence if told else None,
        recovery_action=told.recovery_action if told else None,
        error=lost or (told.error if told else ""),
        off_bus=card.off_bus if card else False,
        uvm_retained=card.uvm_retained if card else None,
    )
