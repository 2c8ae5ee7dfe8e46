"""The logs from the field, beside the checkout."""

from __future__ import annotations

import csv
import functools
import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from stoker.health.crash.diagnosing import diagnose
from stoker.health.crash.verdict import Verdict

ROOT = Path(__file__).parents[3]
PLACES = (os.environ.get("STOKER_SHARED", ""), str(ROOT.parent / "shared"))
CASES = next((Path(p) / "cases" for p in PLACES if p and (Path(p) / "cases").is_dir()), None)
needed = pytest.mark.skipif(
    CASES is None, reason="NOT TESTED: no ../shared/cases beside the checkout (or STOKER_SHARED)"
)


@dataclass(frozen=True)
class Case:
    """One row of `logs.tsv`."""

    id: str
    name: str
    phase: str
    line: int | None
    version: str
    file: str

    def log(self) -> bytes:
        """The bytes of it, unpacked."""
        assert CASES is not None
        raw = (CASES / "logs" / self.file).read_bytes()
        return gzip.decompress(raw) if self.file.endswith(".gz") else raw


@functools.cache
def verdict(case: Case) -> Verdict:
    """Of the whole log, in one piece; it costs, so each is asked for once."""
    return diagnose([case.log()], case.version)


def cases() -> list[Case]:
    """All rows; none where there is no shared folder."""
    if CASES is None:
        return []
    with (CASES / "logs.tsv").open(newline="") as file:
        return [
            Case(
                id=row["id"],
                name=row["class"],
                phase=row["phase"],
                line=None if row["cause_line"] == "-" else int(row["cause_line"]),
                version="" if row["sglang_version"] == "-" else row["sglang_version"],
                file=row["file"],
            )
            for row in csv.DictReader(file, delimiter="\t")
        ]
