"""systemctl and journalctl of a container, as a few lines of shell."""

from pathlib import Path

import pytest

from stoker.diagnosis import running

START = "a3cfaceed55b420594d7f841588c097a"
FAILED = f"""\
case "$1" in
show) cat << X
ActiveState=deactivating
SubState=stop-post
Result=exit-code
NRestarts=1
InvocationID={START}
ExecMainPID=9
ExecMainCode=1
ExecMainStatus=1
ExecMainStartTimestampMonotonic=1000000
ExecMainExitTimestampMonotonic=9000000
X
;;
list-unit-files) echo sglang.service enabled; echo sglang@0.service enabled ;;
esac
"""
LOG = """\
case "$*" in
*--sync* | *MESSAGE_ID*) ;;
*) echo "sglang serve: error: unrecognized arguments: --tensor-paralel 8" ;;
esac
"""
SAID = {
    "SERVICE_RESULT": "exit-code",
    "EXIT_CODE": "exited",
    "EXIT_STATUS": "2",
    "INVOCATION_ID": START,
}
"""What systemd gives an `ExecStopPost=`."""


def put(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    """These programs and no others of that name."""
    where = folder / "programs"
    where.mkdir(exist_ok=True)
    for name, script in {"systemctl": FAILED, "journalctl": LOG, **scripts}.items():
        (where / name).write_text(f"#!/bin/sh\n{script}")
        (where / name).chmod(0o755)
    monkeypatch.setitem(running._ENVIRONMENT, "PATH", f"{where}:/usr/bin:/bin")
    monkeypatch.setenv("PATH", f"{where}:/usr/bin:/bin")
