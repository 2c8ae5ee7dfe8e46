"""The cases of the field that are about memory, and those that are about nothing."""

import csv

import pytest

from tests.serving.memory.__main__ import SHARED
from tests.serving.memory.asked import of_case, reasons

CASES = SHARED / "cases"
TABLE = CASES / "cases.tsv"


def _rows() -> list[dict[str, str]]:
    if not TABLE.is_file():
        return []
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


OURS = {
    "host_ram_short",
    "hicache_too_small",
    "mem_fraction_high",
    "kv_pool_small",
    "context_exceeds_kv",
}


@pytest.mark.parametrize(
    "row", [row for row in _rows() if row["reason_class"] in OURS], ids=lambda row: row["id"]
)
def test_a_case_about_memory_gets_its_reason(row: dict[str, str]) -> None:
    found = reasons(of_case(CASES / "cases" / f"{row['id']}.yaml"))
    assert found.get(row["reason_class"]) in (row["expected"], row["accept_also"])
    assert row["expected"] == "refuse" or "refuse" not in found.values()


@pytest.mark.parametrize(
    "row", [row for row in _rows() if row["reason_class"] not in OURS], ids=lambda row: row["id"]
)
def test_a_case_about_something_else_gets_none(row: dict[str, str]) -> None:
    assert reasons(of_case(CASES / "cases" / f"{row['id']}.yaml")) == {}
