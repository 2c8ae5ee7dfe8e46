import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stoker.facts.files import FileState, FileStates
from stoker.facts.timers import Timer, TimerState
from stoker.operations import watch as operations
from stoker.serving.watch import Watch, config_text, files_of
from tests.operations.hosts import here, words

RUNS = TimerState(known=True, enabled=True, active=True)


def facts(watch: Watch, timer: TimerState = RUNS) -> dict[Any, Any]:
    """Of a node that is watched so."""
    files = files_of(watch)
    return {
        Timer: timer,
        FileStates: {str(f.path): FileState(f.sha256, f.mode, "root:root") for f in files},
    }


def present(watch: Watch | None, there: dict[Any, Any]) -> tuple[list[str], list[str]]:
    with here(there) as host:
        return words(operations.present._inner(watch)), host.noops


def test_off_on_a_node_that_never_was_watched_is_no_change() -> None:
    assert present(None, {}) == ([], ["the node is not watched"])


def test_on_it_is_files_then_a_timer_that_runs_and_will_after_a_boot() -> None:
    told, _ = present(Watch(), {})
    assert told[0] == ("install -d -m 0755 -- /var/lib/prometheus/node-exporter /var/lib/stoker")
    assert [line for line in told if line.startswith("upload")] == [
        "upload /etc/stoker/watch.json.stoker-new",
        "upload /usr/local/lib/systemd/system/stoker-watch.service.stoker-new",
        "upload /usr/local/lib/systemd/system/stoker-watch.timer.stoker-new",
    ]
    assert told[-3:] == [
        "systemctl daemon-reload",
        "systemctl enable --quiet stoker-watch.timer",
        "systemctl restart stoker-watch.timer",
    ]


def test_a_second_time_nothing_is_done() -> None:
    assert present(Watch(), facts(Watch())) == ([], ["the node is watched as said"])


@pytest.mark.parametrize("changed", [{"enabled": False}, {"active": False}, {"needs_reload": True}])
def test_a_run_that_died_half_way_is_healed(changed: dict[str, bool]) -> None:
    told, _ = present(Watch(), facts(Watch(), replace(RUNS, **changed)))
    assert not [line for line in told if line.startswith("upload")]
    assert told[-1] == "systemctl restart stoker-watch.timer"


def test_another_interval_is_only_the_timers_file() -> None:
    told, _ = present(Watch(every_s=30), facts(Watch()))
    assert [line for line in told if line.startswith("upload")] == [
        "upload /usr/local/lib/systemd/system/stoker-watch.timer.stoker-new"
    ]


def test_turned_off_again_it_is_removed() -> None:
    told, _ = present(None, facts(Watch()))
    assert len(told) == 1
    assert "stoker-watch.timer /etc/systemd/system/timers.target.wants" in told[0]


def test_the_removal_takes_what_the_watch_wrote_too(tmp_path: Path) -> None:
    metrics, status = tmp_path / "stoker.prom", tmp_path / "status.json"
    names = ("watch.json", "stoker-watch.service", "stoker-watch.timer")
    mine = [tmp_path / name for name in names]
    wants = tmp_path / "wants"
    wants.mkdir()
    for path in (*mine, metrics, status, wants / "stoker-watch.timer"):
        path.touch()
    mine[0].write_text(config_text(Watch(metrics=str(metrics), status=str(status))))
    other = tmp_path / "other"
    other.touch()
    calls = tmp_path / "calls"
    systemctl = tmp_path / "bin" / "systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    systemctl.chmod(0o755)
    for _ in range(2):  # a removal that was interrupted is made again
        done = subprocess.run(
            ["sh", "-c", operations._REMOVE, "sh", *mine, wants],
            env={**os.environ, "PATH": f"{systemctl.parent}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bin", "calls", "other", "wants"]
    assert list(wants.iterdir()) == []
    assert calls.read_text().splitlines()[:2] == [
        "stop --quiet stoker-watch.timer stoker-watch.service",
        "daemon-reload",
    ]


def test_the_state_of_a_timer_is_read_from_systemd() -> None:
    shown = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nNeedDaemonReload=no"
    assert Timer().process(shown.splitlines()) == RUNS
    assert Timer().process(["LoadState=not-found", "ActiveState=inactive"]) == TimerState()
