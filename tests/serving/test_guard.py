"""The wait for free GPUs before a server starts, with programs in nvidia-smi's place."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from stoker.serving import layout
from stoker.serving.following import REFUSAL, Following, Verdict
from stoker.serving.inside import await_gpus
from stoker.serving.rendering import INSIDE, files_of, unit_text
from tests.serving.flagsets import units
from tests.serving.test_following import BASE, replace

TWO = {"placement": {"layout": "tensor-parallel", "gpus": (0, 3)}}
FREE = "0, GPU-aa, 2\n3, GPU-dd, 1024\n"
HELD = "0, GPU-aa, 88210\n3, GPU-dd, 2\n"


class Clock:
    """Only sleeping takes time."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def _unit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,3")
    monkeypatch.setattr(await_gpus, "LEARNED", tmp_path / "gpu-baseline.json")


def smi(*answers: str, directory: Path, code: int = 0) -> tuple[str, ...]:
    """A program that gives these answers in turn, the last one for ever."""
    for number, answer in enumerate(answers):
        (directory / str(number)).write_text(answer)
    script = (
        'cd "$1"; n=$(cat n 2>/dev/null || echo 0); [ ! -f "$((n + 1))" ] || echo $((n + 1)) > n; '
        f'cat "$n"; exit {code}'
    )
    return ("sh", "-c", script, "sh", str(directory))


def test_free_gpus_are_silent_and_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    assert await_gpus.main(smi(FREE, directory=tmp_path), clock) == 0
    assert (clock.now, capsys.readouterr().out) == (0, "")


def test_memory_that_comes_back_late_is_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await_gpus.main(smi(HELD, HELD, FREE, directory=tmp_path), Clock()) == 0
    assert capsys.readouterr().out.splitlines() == [
        "waiting for memory: GPU 0 uses 88210 MiB (free: at most 1024) (0 of 120 s)",
        "GPU 0, 3 free after 4 s",
    ]


def test_memory_that_never_comes_back_ends_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(await_gpus, "WAIT_S", 24)
    assert await_gpus.main(smi(HELD, directory=tmp_path), Clock()) == 1
    *progress, last = capsys.readouterr().out.splitlines()
    assert len(progress) == 3  # at 0, 10 and 20 s
    assert last == (
        "cannot start: GPU 0 uses 88210 MiB (free: at most 1024) after 24 s of waiting; who "
        "holds it can only be seen on the node: python3 /var/lib/stoker/stoker.pyz look"
    )


def test_a_learned_baseline_is_held_to_with_some_air(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(await_gpus, "WAIT_S", 0)
    await_gpus.LEARNED.write_text(json.dumps({"GPU-aa": {"580.126.09": 2, "575.1": 1}}))
    for used, code in ((258, 0), (259, 1)):
        rows = f"0, GPU-aa, {used}\n3, GPU-dd, 2\n"
        assert await_gpus.main(smi(rows, directory=tmp_path), Clock()) == code


@pytest.mark.parametrize(
    ("answer", "code", "why"),
    [
        (
            "NVIDIA-SMI has failed because ...\n",
            9,
            "nvidia-smi ended with 9: NVIDIA-SMI has failed",
        ),
        ("0, GPU-aa, [N/A]\n3, GPU-dd, 2\n", 0, "nvidia-smi says [N/A] for the memory of GPU 0"),
        ("0, GPU-aa, 2\n", 0, "nvidia-smi does not show GPU 3"),
    ],
)
def test_where_nobody_can_tell_that_is_said_and_the_server_starts(
    answer: str, code: int, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await_gpus.main(smi(answer, directory=tmp_path, code=code), Clock()) == 0
    assert why in capsys.readouterr().out


def test_no_nvidia_smi_and_one_that_hangs_hold_nothing_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(await_gpus, "SMI_S", 0.05)
    assert await_gpus.main(("/nowhere/nvidia-smi",), Clock()) == 0
    assert await_gpus.main(("sleep", "5"), Clock()) == 0
    said = capsys.readouterr().out
    assert "nvidia-smi cannot be run (No such file or directory); starting anyway" in said
    assert "nvidia-smi did not answer in" in said


def test_it_runs_alone_by_a_bare_python(tmp_path: Path) -> None:
    stand_in = tmp_path / "nvidia-smi"
    stand_in.write_text(f"#!/bin/sh\nprintf '{FREE}'\n")
    stand_in.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-I", "-S", INSIDE / "await_gpus.py"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "0,3"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_unit_with_gpus_waits_for_them_and_systemd_lets_it() -> None:
    (unit,) = units(**TWO)
    text = unit_text(unit)
    assert f"\nExecStartPre={unit.python} -I -S /opt/stoker/launch/await_gpus.py\n" in text
    limit = int(text.partition("TimeoutStartSec=")[2].split()[0])
    assert limit > await_gpus.WAIT_S + await_gpus.POLL_S + await_gpus.SMI_S
    assert layout.GUARD in [file.path for file in files_of((unit,))]


def test_a_unit_without_gpus_has_no_guard() -> None:
    (unit,) = units()
    assert "\nExecStartPre=\n" in unit_text(unit)
    assert layout.GUARD not in [file.path for file in files_of((unit,))]


WAITING = replace(BASE, active="activating", sub="start-pre", queued=True, began=False)


def test_the_wait_is_work_however_long_and_silent() -> None:
    course = Following(0)
    for second in range(0, 2000, 50):
        assert course.judge(replace(WAITING, cursor=f"c{second // 500}"), second) is Verdict.WAIT


def test_a_wait_in_vain_ends_the_following_with_its_own_sentence() -> None:
    course = Following(0)
    course.judge(WAITING, 1)
    lines = ("waiting", f"{REFUSAL}GPU 0 uses 88210 MiB; look", "Control process exited")
    refused = replace(WAITING, sub="auto-restart", queued=False, result="exit-code", lines=lines)
    assert course.judge(refused, 2) is Verdict.DEAD
    assert course.why == "it was not started: GPU 0 uses 88210 MiB; look"
    assert course.last and course.last.lines == lines


def test_what_else_fails_before_the_server_is_told_by_systemds_word() -> None:
    course = Following(0)
    failed = replace(WAITING, active="failed", sub="failed", queued=False, result="resources")
    assert course.judge(failed, 1) is Verdict.DEAD
    assert course.why == "it was not started: resources"
