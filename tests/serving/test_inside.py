"""What runs inside the container, run here against a stand-in for SGLang."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stoker.serving.rendering import INSIDE

STANDIN = Path(__file__).parents[1] / "standin"
KEY = "-sk \"$'\\%h"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def served(log: Path, **environment: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    port = free_port()
    words = ["--model-path", "/m", "--served-model-name", "m", "--host", "127.0.0.1"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, INSIDE / "sglang_launch_server.py", *words, "--port", str(port)],
            env={**os.environ, "PYTHONPATH": str(STANDIN), "STANDIN_LOAD_S": "0", **environment},
            stdout=output,
            stderr=output,
        )
    try:
        # The worker's own first line comes last.
        while b"ready to roll" not in log.read_bytes() or b"TP0" not in log.read_bytes():
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        yield port, process
    finally:
        process.terminate()
        process.wait()


def ask(port: int, pid: int, model: str = "m", **more: object) -> dict[str, object]:
    server = {"unit": "u", "url": f"http://127.0.0.1:{port}", "model": model, "pid": pid}
    asked = {**server, "prompt": "hi", "max_tokens": 1, **more}
    result = subprocess.run(
        [sys.executable, "-I", INSIDE / "ask_token.py", json.dumps([asked])],
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, object] = json.loads(result.stdout)
    return answer


def test_a_key_protects_the_server_and_is_in_no_command_line_and_no_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with served(log, STOKER_API_KEY=KEY) as (port, process):
        pids = [process.pid, *map(int, children(process.pid))]
        assert ask(port, process.pid)["tokens"] == 1
        lines = [Path(f"/proc/{pid}/cmdline").read_text() for pid in pids]
        assert stranger(port) == 401
    assert len(lines) > 1
    assert not [line for line in lines if "sk " in line]
    written = log.read_text()
    assert written.count("api_key='***'") == 2  # the server's line and its worker's
    assert "sk " not in written


def stranger(port: int) -> int:
    """The status of a request without a key."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models")
    return refused.value.code


def children(pid: int) -> list[str]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [child for task in tasks for child in (task / "children").read_text().split()]


def test_without_keys_the_server_starts_as_by_hand(tmp_path: Path) -> None:
    with served(tmp_path / "log") as (port, process):
        answer = ask(port, process.pid)
        assert answer == {"unit": "u", "tokens": 1, "text": "fire ", "error": None}
        assert "serves m, not other" in str(ask(port, process.pid, model="other")["error"])


@pytest.mark.scenario("L38")
def test_an_answer_without_a_token_is_no_token(tmp_path: Path) -> None:
    with served(tmp_path / "log", STANDIN_MODE="mute") as (port, process):
        assert ask(port, process.pid)["error"] == "answered without a token"


def test_a_server_that_does_not_listen_yet_is_not_answered_for_by_another(tmp_path: Path) -> None:
    with served(tmp_path / "log") as (port, _):
        assert ask(port, os.getpid())["error"] == "it does not listen on its port"
    assert ask(free_port(), os.getpid())["error"] == "it does not listen on its port"


def stage(source: Path, destination: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", INSIDE / "stage_model.sh", source, destination], capture_output=True, text=True
    )


@pytest.fixture
def model(tmp_path: Path) -> Path:
    source = tmp_path / "disk" / "model"
    source.mkdir(parents=True)
    (source / "config.json").write_text("{}")
    (source / "weights").write_bytes(b"w" * 1000)
    (source / "link").symlink_to("weights")
    return source


def test_a_model_is_copied_whole_with_its_mark_and_only_once(model: Path, tmp_path: Path) -> None:
    there = tmp_path / "shm" / "model"
    assert stage(model, there).returncode == 0
    assert sorted(p.name for p in there.iterdir()) == [".staged", "config.json", "link", "weights"]
    assert not (there / "link").is_symlink()
    born = there.stat().st_ino
    again = stage(model, there)
    assert (again.returncode, again.stdout) == (0, f"stage: {there} is there\n")
    assert there.stat().st_ino == born


def test_a_half_made_copy_and_an_outdated_one_are_made_anew(model: Path, tmp_path: Path) -> None:
    there = tmp_path / "shm" / "model"
    half = tmp_path / "shm" / "model.partial"
    half.mkdir(parents=True)
    (half / "rest").touch()
    assert stage(model, there).returncode == 0
    assert not half.exists()
    assert not (there / "rest").exists()
    (model / "weights").write_bytes(b"v" * 1001)
    assert stage(model, there).returncode == 0
    assert (there / "weights").read_bytes() == b"v" * 1001


def test_a_copy_that_somebody_made_by_hand_is_named_and_left_alone(
    model: Path, tmp_path: Path
) -> None:
    there = tmp_path / "shm" / "model"
    there.mkdir(parents=True)
    (there / "only copy").touch()
    result = stage(model, there)
    assert result.returncode == 1
    assert "something is there that Stoker did not put; move or remove it" in result.stderr
    assert (there / "only copy").exists()


def test_two_flag_sets_that_serve_one_copy_make_it_once(model: Path, tmp_path: Path) -> None:
    there = tmp_path / "shm" / "model"
    words = ["sh", INSIDE / "stage_model.sh", model, there]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert "".join(told).count("is whole") == 1


def test_a_model_that_does_not_fit_is_refused_with_both_sizes(model: Path, tmp_path: Path) -> None:
    with (model / "huge").open("wb") as huge:
        huge.truncate(1 << 43)
    result = stage(model, tmp_path / "shm" / "model")
    assert result.returncode == 1
    assert "it needs 8388608 MiB and" in result.stderr
    assert not (tmp_path / "shm" / "model").exists()


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    result = stage(tmp_path / "none", tmp_path / "shm")
    assert result.returncode == 1
    assert "there is no such directory; check model.staged_from" in result.stderr
