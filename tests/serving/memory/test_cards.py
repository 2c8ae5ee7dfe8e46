"""Cards by the names that nvidia-smi, a case or a person gives them."""

import pytest

from stoker.serving.checking.question import Gpus
from stoker.serving.memory import cards


@pytest.mark.parametrize(
    ("kind", "mib"),
    [
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887),
        ("rtx-pro-6000-96g", 97887),
        ("NVIDIA H100 80GB HBM3", 81559),
        ("NVIDIA H200", 143771),
        ("NVIDIA L4", 23034),
        ("NVIDIA L40S", 46068),
        ("NVIDIA A100-SXM4-80GB", 81920),
        ("NVIDIA A10G", 23028),
        ("NVIDIA B200", 183359),
        ("NVIDIA GB200", 189471),
        ("AMD Instinct MI355X 288GB", 294896),
        ("NVIDIA GB10", 122502),
        ("GH200 96GB", 97920),
        ("24GB card", 24480),
        ("a card of somebody's", None),
        (None, None),
    ],
)
def test_a_card_is_known_by_a_part_of_its_name(kind: str | None, mib: int | None) -> None:
    assert cards.memory_mib(Gpus(kind=kind)) == mib


def test_what_the_machine_says_goes_before_what_its_kind_has() -> None:
    told = Gpus(kind="NVIDIA H100 80GB HBM3", memory_mib=81000, free_gib=70.0)
    assert cards.memory_mib(told) == 81000
    assert cards.free_gib(told, 8) == (70.0, False)


@pytest.mark.parametrize(
    ("kind", "ranks", "logged"),
    [
        ("NVIDIA L4", 4, 21.63),
        ("NVIDIA H100", 1, 78.81),
        ("NVIDIA H200", 8, 137.29),
        ("NVIDIA B200", 4, 176.28),
        ("RTX PRO 6000", 8, 93.99),
        ("NVIDIA RTX 4090", 2, 22.93),
        ("MI355X", 8, 283.53),
        ("NVIDIA GB10", 1, 112.23),
    ],
)
def test_free_memory_is_estimated_as_logs_of_such_cards_show(
    kind: str, ranks: int, logged: float
) -> None:
    found = cards.free_gib(Gpus(kind=kind), ranks)
    assert found is not None and found[1]
    assert found[0] == pytest.approx(logged, rel=0.01)


def test_nothing_is_known_of_an_unknown_card() -> None:
    assert cards.free_gib(Gpus(), 1) is None
