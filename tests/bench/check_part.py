"""The fourth part: how long `stoker check` takes, as somebody waits for it."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from . import machine
from .report import Measurements, Part, of_aims
from .rows import Aim, under

TITLE = "From a flag set to its verdict"
WANTED_S = 1.0
WANTED_EACH_MS = 50
RUNS = 7
MANY = 50
STOKER = Path(sys.executable).parent / "stoker"
ROOT = Path(__file__).resolve().parents[2]
FLAGSET = ROOT / "group_data/flagsets/kimi-k2.5-eagle3.yaml"
CASE = {
    "sglang": "0.5.12",
    "flags": [
        "--model-path", "/srv/models/a", "--tp-size", "8", "--mem-fraction-static", "0.84",
        "--enable-hierarchical-cache", "--hicache-size", "300", "--context-length", "65536",
    ],
    "gpu": {"kind": "rtx-pro-6000-96g", "sm": 120, "count": 8, "memory_mib": 97887},
    "host": {"mem_available_gb": 449},
    "model": {"arch": "DeepseekV3ForCausalLM", "heads": 64, "layers": 61, "mla": True,
              "kv_lora_rank": 512, "qk_rope_head_dim": 64, "kv_dtype_bytes": 2,
              "max_position": 262144, "weights_gib": 594.0},
}  # fmt: skip


def measured(work: Path) -> Part:
    """Whole processes, from the first byte of Python to the exit code."""
    case = work / "case.yaml"
    case.write_text(json.dumps(CASE))  # YAML is JSON, and more
    ways = {
        "a case, refused": [case],
        "a flag set": [FLAGSET],
        f"{MANY} cases in one call": [case] * MANY,
    }
    found = {name: _seconds(files) for name, files in ways.items()}
    nothing = _median([sys.executable, "-c", "pass"])
    lines = [("Python itself, which does nothing", f"{nothing:.3f}", "")]
    lines += [(name, f"{s:.3f}", f"{s / len(ways[name]) * 1000:.0f}") for name, s in found.items()]
    head = ("files", "seconds", "ms a file")
    return Part(TITLE, _ABOUT, machine.told(), (Measurements(head, lines), of_aims(_aims(found))))


def _aims(found: dict[str, float]) -> Iterator[Aim]:
    one, flagset, many = found.values()
    yield under("stoker check of a case", WANTED_S, one, "s")
    yield under("stoker check of a flag set", WANTED_S, flagset, "s")
    yield under("each further file", WANTED_EACH_MS, (many - one) / (MANY - 1) * 1000, "ms")


def _seconds(files: list[Path]) -> float:
    return _median([str(STOKER), "check", "--json", *map(str, files)])


def _median(words: list[str]) -> float:
    return statistics.median(_once(words) for _ in range(RUNS))


def _once(words: list[str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode > 1:
        raise RuntimeError(done.stderr.decode())
    return seconds


_ABOUT = f"""\
`stoker check --json` as a whole process, the median of {RUNS} runs by the clock: most of it is
Python's own start and imports, so a flag set, whose schema pydantic checks, takes longer than a
case. It asks no host.
"""
