"""The preflight cases that are shared beside the checkout."""

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLACES = (os.environ.get("STOKER_SHARED", ""), str(ROOT.parent / "shared"))
CASES = next(
    (Path(p, "cases") for p in PLACES if p and Path(p, "cases", "cases.tsv").is_file()), None
)
needed = pytest.mark.skipif(
    CASES is None, reason="NOT TESTED: no ../shared/cases beside the checkout (or STOKER_SHARED)"
)


@dataclass(frozen=True)
class Row:
    """One row of cases.tsv."""

    id: str
    path: Path
    expected: frozenset[str]
    """Verdicts that are right."""
    reason: str
    """The class that must be among the reasons; empty: there is none."""

    def __str__(self) -> str:
        return f"{self.id} {self.reason or 'ok'}"


def rows() -> list[Row]:
    """All of them; none where there is no shared folder."""
    if CASES is None:
        return []
    with (CASES / "cases.tsv").open(encoding="utf-8") as table:
        return [_row(CASES, row) for row in csv.DictReader(table, delimiter="\t")]


def _row(cases: Path, row: dict[str, str]) -> Row:
    return Row(
        id=row["id"],
        path=cases / "cases" / f"{row['id']}.yaml",
        expected=frozenset({row["expected"], row["accept_also"]} - {"-"}),
        reason=row["reason_class"].replace("-", ""),
    )
