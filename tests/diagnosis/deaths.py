"""Deaths and their reports, for tests."""

from typing import Any

from stoker.diagnosis.reports import Report
from stoker.health.crash.death import Death
from stoker.health.crash.verdict import Verdict

OOM = Verdict(
    name="gpu_oom",
    phase="graph_capture",
    line=42,
    text="torch.OutOfMemoryError: CUDA out of memory.",
    cause="a CUDA graph did not fit",
    action="lower --mem-fraction-static",
    confidence="high",
)


def death(number: int = 0, ended: float = 1000.0, lived: float = 60.0, **changed: Any) -> Death:
    """The death after `number` restarts by systemd; times in seconds."""
    fields = {"unit": "sglang.service", "result": "exit-code", "code": "exited", "status": "1"}
    times = {"started": ended - lived, "ended": ended, "restarts": number}
    return Death(**{**fields, **times, **changed})


def report(number: int = 0, ended: float = 1000.0, lived: float = 60.0, **changed: Any) -> Report:
    """Its report; its invocation is its time."""
    made = {"time": ended, "invocation": f"{int(ended):032x}", "verdict": OOM}
    return Report(**{**made, "death": death(number, ended, lived), **changed})
