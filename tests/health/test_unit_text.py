"""Units as a real systemd 252 tells them, and where each stands."""

from __future__ import annotations

import pytest

from stoker.health.unit_text import on_purpose, parse
from stoker.health.units import UnitState, wanted

SHOWN = """\
Id=sglang.service
LoadState=loaded
ActiveState=active
SubState=running
Result=success
MainPID=108
NRestarts=1
FragmentPath=/usr/local/lib/systemd/system/sglang.service
ControlGroup=/system.slice/sglang.service
UnitFileState=enabled
ExecMainStartTimestampMonotonic=14531880000
Environment=LD_PRELOAD=libcuda.so.1 CUDA_VISIBLE_DEVICES=1,2
ExecStartPre={ path=/usr/local/lib/stoker/guard ; argv[]=guard ; status=0/0 }

Id=whisper.service
LoadState=loaded
ActiveState=active
SubState=running
MainPID=120
FragmentPath=/etc/systemd/system/whisper.service
Environment=

Of=sglang.service
XFlagSet=tiny
XURL=http://0.0.0.0:30000
XModel=tiny
XPython=/opt/venv/bin/python

Of=whisper.service
"""
PASSED = ("GPU-a", "GPU-b", "GPU-c")


def units(targets: frozenset[str] | None = None) -> dict[str, UnitState]:
    return {u.name: u for u in parse(SHOWN.splitlines(), PASSED, 14600.0, targets)}


def test_a_unit_of_ours_is_known_by_its_name_and_its_file() -> None:
    unit = units()["sglang.service"]
    assert unit.target
    assert unit.guarded
    assert unit.enabled
    assert unit.gpus == ("GPU-b", "GPU-c")
    assert unit.url == "http://127.0.0.1:30000"
    assert (unit.model, unit.python) == ("tiny", "/opt/venv/bin/python")
    assert unit.age_s == pytest.approx(68.12)


def test_another_one_is_looked_at_only_because_it_holds_a_gpu() -> None:
    other = units()["whisper.service"]
    assert not other.target
    assert other.gpus is None
    assert other.standing == "running"
    assert not other.maskable


def test_a_named_unit_is_the_target_instead() -> None:
    named = units(frozenset({"whisper.service"}))
    assert named["whisper.service"].target
    assert not named["sglang.service"].target


@pytest.mark.parametrize(
    "active, sub, answers, age_s, standing",
    [
        ("active", "running", True, 10, "healthy"),
        ("active", "running", False, 10, "loading"),
        ("active", "running", False, 4000, "silent"),
        ("active", "running", None, 10, "running"),
        ("activating", "auto-restart", None, None, "restarting"),
        ("activating", "start-pre", None, None, "restarting"),
        ("activating", "start", None, None, "loading"),
        ("deactivating", "stop-sigterm", None, None, "stopping"),
        ("failed", "failed", None, None, "failed"),
        ("inactive", "dead", None, None, "inactive"),
        ("unknown", "", None, None, "unknown"),
    ],
)
def test_where_a_unit_stands(
    active: str, sub: str, answers: bool | None, age_s: float | None, standing: str
) -> None:
    unit = UnitState("x.service", active=active, sub=sub, answers=answers, age_s=age_s)
    assert unit.standing == standing


def test_a_cpu_server_uses_no_gpu() -> None:
    text = "Id=a.service\nLoadState=loaded\nActiveState=failed\nEnvironment=CUDA_VISIBLE_DEVICES=\n"
    (unit,) = parse(text.splitlines(), PASSED, 1.0, None)
    assert unit.gpus == ()


def test_what_was_down_is_wanted_only_if_asked_for() -> None:
    down = UnitState("a.service", active="inactive", enabled=True)
    failed = UnitState("b.service", active="failed")
    assert wanted((down, failed), serve=False) == {"b.service"}
    assert wanted((down, failed), serve=True) == {"a.service", "b.service"}


@pytest.mark.parametrize(
    "name, kept",
    [
        ("whisper.service", True),
        ("docker-0123abcd.scope", True),
        ("libpod-0123abcd.scope", True),
        ("session-4.scope", False),
        ("run-r0123abcd.scope", False),
        ("", False),
    ],
)
def test_what_somebody_runs_on_purpose_is_no_leftover(name: str, kept: bool) -> None:
    assert on_purpose(name) is kept
