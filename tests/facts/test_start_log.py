"""The log of one start, asked of a journal that is a script here."""

import subprocess
from pathlib import Path

import pytest

from stoker.facts.start_log import StartLog
from tests.recovery.test_kernel_lines import put


def test_the_processes_lines_and_systemds_own_are_asked_for_one_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "journalctl", f'echo "$*" > {tmp_path}/asked; printf "one\\ntwo\\n"')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    command = StartLog().command(invocation="abc").get_raw_value()
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert StartLog().process(done.stdout.splitlines()) == ["one", "two"]
    asked = (tmp_path / "asked").read_text()
    assert "_SYSTEMD_INVOCATION_ID=abc _TRANSPORT=stdout + INVOCATION_ID=abc" in asked


def test_without_a_journal_there_is_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "journalctl", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    command = StartLog().command(invocation="abc").get_raw_value()
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout == b""
