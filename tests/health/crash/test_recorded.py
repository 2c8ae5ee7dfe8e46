"""Failures that a real SGLang was driven into, each read from its log (`recorded/README.md`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.health.crash.classes import known
from stoker.health.crash.diagnosing import diagnose
from stoker.health.crash.verdict import PHASES

RECORDED = Path(__file__).parent / "recorded"
_OF_A_MACHINE = re.compile(rb"/root/|/tmp/wt|pyenv|/simple/|PRIVATE KEY|hf_[A-Za-z0-9]{30}")
ROWS: list[dict[str, Any]] = yaml.safe_load((RECORDED / "expected.yaml").read_text())
BY_FILE = [pytest.param(row, id=row["file"]) for row in ROWS]


NEAR = 2


def lines(row: dict[str, Any]) -> list[bytes]:
    return (RECORDED / row["file"]).read_bytes().split(b"\n")


def kernel(row: dict[str, Any]) -> list[bytes]:
    """The kernel's log of that minute, where one was taken."""
    return [(RECORDED / row["dmesg"]).read_bytes()] if "dmesg" in row else []


@pytest.mark.parametrize("row", BY_FILE)
def test_a_recorded_failure_is_what_was_done_to_the_server(row: dict[str, Any]) -> None:
    verdict = diagnose([(RECORDED / row["file"]).read_bytes()], dmesg=kernel(row))
    assert verdict.name in (row["class"], *row.get("class_too", ()))
    assert verdict.phase in (row["phase"], *row.get("phase_too", ()))
    right = (row["line"], *row.get("line_too", ()))
    if verdict.line is None:
        assert None in right
    else:
        assert any(line and abs(line - verdict.line) <= NEAR for line in right), verdict


def test_the_row_of_a_recording_names_a_class_a_phase_and_the_line() -> None:
    for row in ROWS:
        assert row["class"] in known() or row["class"] == "none", row
        assert row["phase"] in PHASES, row
        if row["line"] is not None:
            assert row["text"].encode() in lines(row)[row["line"] - 1], row


def test_every_recording_has_a_row_and_every_row_its_recording() -> None:
    kept = {str(path.relative_to(RECORDED)) for path in RECORDED.glob("*/*.log")}
    assert kept == {row["file"] for row in ROWS}


def test_a_recording_names_nothing_of_the_machine_it_was_made_on() -> None:
    kept = [*RECORDED.glob("*/*.log"), *RECORDED.glob("*/*.dmesg")]
    assert [path for path in kept if _OF_A_MACHINE.search(path.read_bytes())] == []
