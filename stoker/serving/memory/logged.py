"""SGLang's own figures of its memory, read from the lines of its log.

The wording of 0.5.6 to 0.5.23. What SGLang calls GB there is GiB. Of several ranks the least free
memory counts, as SGLang itself takes the least; of a draft model's lines none does.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_START = "server_args=ServerArgs("
_FREE = r"avail mem=(-?[\d.]+) GB"
_BEGIN = re.compile(rf"Load weight begin\. {_FREE}")
_END = re.compile(rf"Load weight end\..*?{_FREE}")
_POOL = re.compile(rf"Memory pool end\. {_FREE}")
_KV = re.compile(r"KV Cache is allocated\..*?#tokens: (\d+), (?:K size|KV size): ([\d.]+) GB")
_V = re.compile(r", V size: ([\d.]+) GB\s*$")
_STATES = re.compile(r"Mamba Cache is allocated\..*?max_mamba_cache_size: (\d+)")
_CAPTURED = re.compile(rf"Capture .*?graph end\..*?{_FREE}")
_READY = re.compile(r"max_total_num_tokens=(\d+),.*?available_gpu_mem=(-?[\d.]+) GB")
_FRACTION = re.compile(r"mem_fraction_static=([\d.]+)")


@dataclass(frozen=True)
class Logged:
    """Of one server's start. None: the log does not tell."""

    before_gib: float | None = None
    """Free before the weights, the least of the ranks."""
    after_gib: float | None = None
    tokens: int | None = None
    """max_total_num_tokens."""
    kv_gib: float | None = None
    slots: int | None = None
    """State slots of a hybrid model."""
    pool_left_gib: float | None = None
    """Free once the pool stands."""
    ready_left_gib: float | None = None
    """Free when the server is ready: graphs captured."""
    fraction: float | None = None


def read(lines: Iterable[str]) -> Logged | None:
    """The figures of the last start that the lines tell of; None: they tell none."""
    found: dict[str, float] = {}
    ended = False
    for line in lines:
        begin = _BEGIN.search(line)
        if _START in line or (begin and "ready_left_gib" in found):
            found, ended = {}, False
        if begin and not ended:
            _least(found, "before_gib", begin)
        end = _END.search(line)
        if end and "tokens" not in found:
            ended = _least(found, "after_gib", end)
        _others(found, line)
    return _logged(found) if found else None


def _others(found: dict[str, float], line: str) -> None:
    if (match := _KV.search(line)) and "tokens" not in found:
        second = _V.search(line.rstrip())
        found["tokens"] = float(match[1])
        found["kv_gib"] = float(match[2]) + (float(second[1]) if second else 0.0)
    if match := _STATES.search(line):
        found.setdefault("slots", float(match[1]))
    if match := _FRACTION.search(line):
        found.setdefault("fraction", float(match[1]))
    if match := _POOL.search(line):
        _least(found, "pool_left_gib", match)
    if match := _CAPTURED.search(line):
        found["ready_left_gib"] = float(match[1])
    if match := _READY.search(line):
        found["tokens"], found["ready_left_gib"] = float(match[1]), float(match[2])


def _least(found: dict[str, float], name: str, match: re.Match[str]) -> bool:
    found[name] = min(found.get(name, float("inf")), float(match[1]))
    return True


def _logged(found: dict[str, float]) -> Logged:
    return Logged(
        before_gib=found.get("before_gib"),
        after_gib=found.get("after_gib"),
        tokens=int(found["tokens"]) if "tokens" in found else None,
        kv_gib=found.get("kv_gib"),
        slots=int(found["slots"]) if "slots" in found else None,
        pool_left_gib=found.get("pool_left_gib"),
        ready_left_gib=found.get("ready_left_gib"),
        fraction=found.get("fraction"),
    )
