import pytest

from stoker.diagnosis import ends, unit_state
from stoker.diagnosis.unit_state import parsed
from tests.diagnosis.deaths import death

# `systemctl show` of systemd 252 while ExecStopPost= runs; the clock began at 1000.
STOP_POST = """\
Result=signal
NRestarts=2
ExecMainStartTimestampMonotonic=5000000
ExecMainExitTimestampMonotonic=9500000
InactiveExitTimestampMonotonic=4900000
ExecMainPID=390
ExecMainCode=2
ExecMainStatus=9
EnvironmentFiles=/etc/stoker/sglang@0.env (ignore_errors=no)
ActiveState=deactivating
SubState=stop-post
FragmentPath=/usr/local/lib/systemd/system/sglang@0.service
InvocationID=f2417bac4b0849f3a63c1daa12b35f3a
"""
KILLED = {"SERVICE_RESULT": "signal", "EXIT_CODE": "killed", "EXIT_STATUS": "KILL"}


def test_a_unit_is_read_as_systemctl_shows_it() -> None:
    state = parsed("sglang@0.service", STOP_POST, 1000.0)
    assert (state.started, state.ended) == (1005.0, 1009.5)
    assert (state.code, state.status, state.restarts) == ("killed", "KILL", 2)
    assert state.env_files == ("/etc/stoker/sglang@0.env",)
    assert not state.runs
    assert not parsed("sglang.service", "", 0.0).active


@pytest.mark.parametrize(
    ("active", "sub", "runs"),
    [
        ("active", "running", True),
        ("activating", "start-pre", True),
        ("activating", "auto-restart", False),
        ("failed", "failed", False),
        ("inactive", "dead", False),
    ],
)
def test_a_start_goes_on_while_anything_of_it_runs(active: str, sub: str, runs: bool) -> None:
    assert parsed("u", f"ActiveState={active}\nSubState={sub}", 0.0).runs is runs


def test_how_it_ended_is_what_systemd_tells_in_the_environment() -> None:
    told = ends.told(parsed("sglang@0.service", STOP_POST, 1000.0), KILLED)
    assert (told.result, told.code, told.status) == ("signal", "killed", "KILL")
    assert (told.ended, told.restarts) == (1009.5, 2)


def test_what_failed_before_the_server_has_neither_code_nor_status() -> None:
    """`$EXIT_CODE` is not set then, and the times are those of an earlier start."""
    told = ends.told(parsed("u", STOP_POST, 1000.0), {"SERVICE_RESULT": "exit-code"})
    assert (told.code, told.status) == ("", "")
    assert told.ended is not None
    assert told.ended > 1009.5


def test_a_stop_that_was_asked_for_before_the_end_is_no_death_however_it_ended() -> None:
    killed = death(ended=1000.0, result="signal", code="killed", status="KILL")
    assert ends.judged(killed, asked_at=999.0, queued=True)
    assert ends.judged(killed, asked_at=999.0, queued=False)


def test_what_had_died_before_anybody_asked_is_a_death() -> None:
    assert not ends.judged(death(ended=1000.0), asked_at=1001.0, queued=True)


def test_where_the_journal_tells_nothing_systemds_job_decides() -> None:
    assert ends.judged(death(), asked_at=None, queued=True)
    assert not ends.judged(death(), asked_at=None, queued=False)


@pytest.mark.parametrize(
    ("jobs", "queued"),
    [
        ("324 sglang.service stop running\n", True),
        ("537 sglang.service restart running\n", True),
        ("749 sglang.service start running\n", False),
        ("324 sglang@1.service stop running\n", False),
        ("", False),
    ],
)
def test_only_a_job_that_ends_this_unit_counts(
    jobs: str, queued: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ends, "answer", lambda words: jobs)
    assert ends.stop_queued("sglang.service") is queued


def test_our_units_are_told_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "sglang@0.service loaded\nsglang-stage-tiny.service loaded\nsglang.service loaded\n"
    monkeypatch.setattr(unit_state, "answer", lambda words: listed)
    assert unit_state.ours() == ["sglang.service", "sglang@0.service"]
