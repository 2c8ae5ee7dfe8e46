"""The kernel's log, asked of the programs that have it."""

import os
from pathlib import Path

import pytest

from stoker.health import xids
from stoker.recovery import kernel_lines
from stoker.recovery.machine import Machine

XID = "kernel: NVRM: Xid (PCI:0000:01:00): {}, pid=7, name=python3, Ch 00000008"
# Tells of both boots unless it is asked for this one alone, and of others' lines as well.
JOURNAL = f"""
case " $* " in *" -o short-unix "*) ;; *) exit 1 ;; esac
case " $* " in *" -k "*) ;; *) echo '1796000001.0 pve1 {XID.format(1)}' ;; esac
case " $* " in *" -b "*) ;; *) echo '1796000002.0 pve1 {XID.format(79)}' ;; esac
echo '1796000003.0 pve1 {XID.format(13)}'
"""


def put(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}")
    (folder / name).chmod(0o755)


@pytest.mark.scenario("P15")
def test_an_xid_of_an_earlier_boot_is_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "journalctl", JOURNAL)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = xids.parse(kernel_lines.read(Machine()))
    assert [(xid.number, xid.time) for xid in found] == [(13, 1796000003.0)]


def test_without_a_journal_the_ring_buffer_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "journalctl", "echo 'No journal files were found.' >&2; exit 1")
    put(tmp_path, "dmesg", f"echo '[   12.500000] {XID.format(13).partition(': ')[2]}'")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "stat").write_text("btime 1796000000\n")
    (found,) = xids.parse(kernel_lines.read(Machine(proc=str(tmp_path))))
    assert (found.number, found.time) == (13, 1796000012.5)
