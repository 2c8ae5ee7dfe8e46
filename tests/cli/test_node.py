"""`stoker node`: a row a check, and nvidia-smi only where there is a driver to ask."""

from typing import Any

import pytest

from stoker.cli.node import Row, rows_of
from stoker.facts.node_settings import NodeSettings, SmiSettings
from stoker.health.node_seen import Gpu, Settings
from tests.operations.given import Given


def node(seen: Settings | None, **facts: Any) -> Given:
    return Given({NodeSettings: seen, **({SmiSettings: facts["smi"]} if facts else {})}, "pve1")


def test_a_machine_without_gpus_says_so_and_nvidia_smi_is_not_asked() -> None:
    found = rows_of(node(Settings()))
    assert found == [Row("pve1", "GPUs", "the node has no NVIDIA GPU on its PCI bus", None)]


def test_gpus_without_a_driver_are_told_and_nvidia_smi_is_not_asked() -> None:
    found = rows_of(node(Settings(gpus=(Gpu("0000:01:00.0"),))))
    assert ("driver", False) in [(row.check, row.good) for row in found]


@pytest.mark.parametrize("smi", [[], [{"persistence_mode": "Disabled", "pci.bus_id": "1"}]])
def test_nvidia_smi_s_rows_come_last(smi: Any) -> None:
    seen = Settings(loaded="580.126.09", gpus=(Gpu("0000:01:00.0"),))
    checks = [row.check for row in rows_of(node(seen, smi=smi))]
    assert checks[10:] == (["persistence", "power limit", "memory rows"] if smi else ["nvidia-smi"])


def test_a_node_that_gives_no_answer_is_not_good() -> None:
    (row,) = rows_of(node(None))
    assert (row.check, row.good) == ("look", False)
