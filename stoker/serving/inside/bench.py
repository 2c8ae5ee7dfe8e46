"""Runs SGLang's own bench_serving against one server. Run as root by the venv's Python.

argv[1]: JSON {"url", "pid", "words", "time_limit_s"}; words: bench_serving's own, without the place
and the output. Prints one JSON object: {"error", "lines", "waited", "figures"}; `figures` are those
of bench_serving's names. It runs as the server's user with the server's environment, which holds
the API key; its own output holds that key too, so the file is in a directory that nobody else can
read, and of it only the figures go on.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from stoker.serving.inside.ask_token import api_key
from stoker.serving.inside.waiting import waited, waits

MODULES = ("sglang.bench_serving", "sglang.benchmark.serving")
"""The second is its name from 0.5.23 on; the first still works there."""
FIGURES = (
    "completed",
    "duration",
    "output_throughput",
    "total_throughput",
    "median_ttft_ms",
    "median_tpot_ms",
    "accept_length",
)
LINES = 12
_PDEATHSIG = 1


def environment(pid: int) -> dict[str, str]:
    """The server's own, with its key under the name that bench_serving reads, and without GPUs:
    it needs none, and their memory is what is being measured."""
    entries = Path(f"/proc/{int(pid)}/environ").read_bytes().split(b"\0")
    pairs = (entry.decode(errors="surrogateescape").partition("=") for entry in entries)
    kept = {name: value for name, equals, value in pairs if equals}
    kept = {name: value for name, value in kept.items() if not name.startswith("STOKER_")}
    for name in ("OPENAI_API_KEY", "API_KEY", "NOTIFY_SOCKET", "INVOCATION_ID"):
        kept.pop(name, None)
    key = api_key(pid)
    named = {"OPENAI_API_KEY": key} if key else {}
    return {**kept, **named, "CUDA_VISIBLE_DEVICES": "", "no_proxy": "*", "NO_PROXY": "*"}


def ran(asked: dict[str, Any], module: str, output: Path) -> tuple[int | None, list[str]]:
    """Its exit code, None after the time limit; and its last lines."""
    place = ["--backend", "sglang", "--base-url", asked["url"], "--output-file", str(output)]
    owner = output.parent.stat()
    process = subprocess.Popen(
        [sys.executable, "-m", module, *place, *asked["words"]],
        cwd=output.parent,
        env=environment(asked["pid"]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=dies_with_us,
        user=owner.st_uid if os.geteuid() == 0 else None,
        group=owner.st_gid if os.geteuid() == 0 else None,
        extra_groups=[] if os.geteuid() == 0 else None,
    )
    try:
        told, _ = process.communicate(timeout=asked["time_limit_s"])
        return process.returncode, told.decode(errors="replace").splitlines()
    except subprocess.TimeoutExpired:
        process.kill()
        told, _ = process.communicate()
        return None, told.decode(errors="replace").splitlines()


def dies_with_us() -> None:
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)


def told(asked: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Everything that is printed."""
    owner = Path(f"/proc/{int(asked['pid'])}").stat()
    if os.geteuid() == 0:
        os.chown(directory, owner.st_uid, owner.st_gid)
    output, before = directory / "bench.jsonl", waits(asked["pid"])
    code, lines = ran(asked, MODULES[0], output)
    if code and any(f"No module named {MODULES[0]}" in line for line in lines):
        code, lines = ran(asked, MODULES[1], output)
    error, figures = None, {}
    if code is None:
        error = f"still ran after {asked['time_limit_s']} s"
    elif code:
        error = f"ended with exit code {code}"
    else:
        try:
            figures = json.loads(output.read_text().splitlines()[-1])
        except (OSError, ValueError, IndexError) as failure:
            error = f"wrote no figures: {failure}"
    kept = {name: figures.get(name) for name in FIGURES}
    starved = waited(before, waits(asked["pid"]), kept["duration"] or 0)
    return {"error": error, "lines": lines[-LINES:], "waited": starved, "figures": kept}


if __name__ == "__main__":
    dies_with_us()
    wanted = json.loads(sys.argv[1])
    signal.alarm(int(wanted["time_limit_s"] * 2 + 60))
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as place:
        print(json.dumps(told(wanted, Path(place))), flush=True)
