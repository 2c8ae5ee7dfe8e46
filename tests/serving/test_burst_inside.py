"""The burst and bench_serving as the container runs them, here against the stand-in server."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stoker.serving.evidence.bench import bench
from stoker.serving.evidence.burst import Limits, burst
from stoker.serving.inside import burst as inside
from stoker.serving.programs import program
from tests.serving.test_inside import KEY, free_port, served

TINY = Limits(chunk=256, running=8, context=512, pool=2048)


def run(name: str, env: dict[str, str] | None = None, **asked: Any) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", program(name), json.dumps(asked)],
        capture_output=True,
        text=True,
        check=True,
        env=env,
    )
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def asked(port: int, pid: int, **changed: Any) -> dict[str, Any]:
    sized = burst(TINY)
    known = {
        "url": f"http://127.0.0.1:{port}",
        "pid": pid,
        "gpus": [],
        "model_path": "/nowhere",
        "prompts": sized.prompts,
        "generated": sized.generated,
        "time_limit_s": 30,
    }
    return {**known, **changed}


Server = tuple[int, int]
"""Port and process id."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that serves, with a key and a draft."""
    log = tmp_path_factory.mktemp("server") / "log"
    with served(log, STOKER_API_KEY=KEY, STANDIN_ACCEPT="2.7") as (port, process):
        yield port, process.pid


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("slow") / "log"
    with served(log, STANDIN_TOKENS_PER_S="50") as (port, process):
        yield port, process.pid


def test_a_burst_counts_its_tokens_and_its_key_is_in_no_answer(server: Server) -> None:
    said = run("burst", **asked(*server))
    sized = burst(TINY)
    assert said["error"] is None
    assert said["requests"] == said["answered"] == sized.requests
    assert said["prompt_tokens"] + said["generated_tokens"] == sized.tokens
    assert said["info"] == {
        "chunk": 256,
        "running": 8,
        "context": 512,
        "pool": 2048,
        "accept_length": 2.7,
        "sglang": "0.5.12",
    }
    assert "sk " not in json.dumps(said)


def test_without_prompts_it_only_asks_the_server_for_its_limits(server: Server) -> None:
    said = run("burst", **asked(*server, prompts=[]))
    assert (said["error"], said["requests"], "answered" in said) == (None, 0, False)
    assert said["info"]["pool"] == 2048


def test_a_server_that_dies_of_the_burst_is_told_with_what_was_answered(tmp_path: Path) -> None:
    with served(tmp_path / "log", STANDIN_MODE="burst") as (port, process):
        said = run("burst", **asked(port, process.pid))
        assert process.wait(timeout=10) == -9
    assert said["error"]
    assert said["answered"] < said["requests"]


def test_a_server_that_is_too_slow_is_given_up_in_time(slow: Server) -> None:
    said = run("burst", **asked(*slow, time_limit_s=1))
    assert said["error"] == "not all answered in 1 s"
    assert said["seconds"] < 5


def test_a_server_that_refuses_a_prompt_is_quoted(server: Server) -> None:
    said = run("burst", **asked(*server, prompts=[[1, 600]]))
    assert said["error"].startswith("ValueError: HTTP 400: ")
    assert "The input is too long." in said["error"]


def test_the_least_free_memory_of_its_gpus_is_kept(tmp_path: Path, server: Server) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text('#!/bin/sh\nprintf "%s\\n" "$*" >> "$0.asked"\nprintf "81920\\n3328\\n"\n')
    smi.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    said = run("burst", {**os.environ, "PATH": path}, **asked(*server, gpus=[2, 5]))
    assert said["low_water_gib"] == 3.25
    line = (tmp_path / "nvidia-smi.asked").read_text().splitlines()[0]
    assert line == "--query-gpu=memory.free --format=csv,noheader,nounits -i 2,5"


@pytest.mark.parametrize("script", ["sleep 60", "exit 9", "echo [N/A]"])
def test_an_nvidia_smi_that_does_not_tell_leaves_the_memory_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\nexec {script}\n" if "sleep" in script else f"#!/bin/sh\n{script}\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(inside, "SMI_TIMEOUT_S", 0.2)
    low_water = inside.LowWater([0])
    low_water.start()
    low_water.join(5)
    assert low_water.end() is None


def test_nobody_else_is_measured_in_its_place(server: Server) -> None:
    port, pid = server
    for elsewhere in (asked(port, os.getpid()), asked(free_port(), pid)):
        assert run("burst", **elsewhere)["error"] == "it does not listen on its port"


def test_the_burst_ends_with_whoever_runs_it(slow: Server) -> None:
    outer = "import subprocess,sys; p=subprocess.Popen([sys.executable,'-I','-c',*sys.argv[1:]])\n"
    outer += "print(p.pid, flush=True); sys.stdin.read()"
    words = [program("burst"), json.dumps(asked(*slow, time_limit_s=600))]
    with subprocess.Popen(
        [sys.executable, "-c", outer, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        pid = int(process.stdout.readline())
        until = time.monotonic() + 20
        while sockets(pid) < 2:
            assert time.monotonic() < until
            time.sleep(0.02)
        process.kill()
    while Path(f"/proc/{pid}").exists() and "State:\tZ" not in status(pid):
        assert time.monotonic() < until
        time.sleep(0.02)


def sockets(pid: int) -> int:
    found = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed in between
            found += "socket" in str(link.readlink())
    return found


def status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return "State:\tZ"


def measured(port: int, pid: int, **more: Any) -> dict[str, Any]:
    words = bench(TINY).words("/m", None, 7)
    url = f"http://127.0.0.1:{port}"
    return run("bench", **{"url": url, "pid": pid, "words": words, "time_limit_s": 30, **more})


def test_bench_serving_takes_the_key_from_the_server_and_gives_back_figures_alone(
    server: Server,
) -> None:
    """What it writes holds the server's arguments, API key included."""
    said = measured(*server)
    assert said["error"] is None
    figures = said["figures"]
    assert figures["completed"] == bench(TINY).prompts
    assert figures["output_throughput"] > 0
    assert (figures["median_ttft_ms"], figures["accept_length"]) == (54.0, 2.7)
    assert "sk " not in json.dumps(said)


def test_a_measurement_that_fails_says_how(server: Server) -> None:
    said = measured(*server, words=["--num-prompts", "x"])
    assert said["error"] == "ended with exit code 2"
    assert "invalid int value: 'x'" in said["lines"][-1]


def test_a_measurement_that_does_not_end_is_ended(slow: Server) -> None:
    assert measured(*slow, time_limit_s=1)["error"] == "still ran after 1 s"
