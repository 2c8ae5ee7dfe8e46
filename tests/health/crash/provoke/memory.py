"""Memory: caches of the wrong size, and a limit that the kernel enforces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.health.crash.provoke import scenario
from tests.health.crash.provoke.scenario import Scenario
from tests.health.crash.provoke.server import Server

GROUP = Path("/sys/fs/cgroup/memory/llm")
"""A group of version 1; where a machine has none, these scenarios fail."""


def _limited(mib: int) -> Callable[[Server], object]:
    """All its processes together may have no more than that, from the start."""

    def act(server: Server) -> object:
        GROUP.mkdir(exist_ok=True)
        (GROUP / "memory.limit_in_bytes").write_text(str(mib << 20))
        (GROUP / "cgroup.procs").write_text(str(server.process.pid))
        scenario.left_alone(server)
        return f"a memory limit of {mib} MiB"

    return act


def _scheduler_limited(server: Server) -> object:
    """What it took before does not count; the next few pages do."""
    server.ready()
    GROUP.mkdir(exist_ok=True)
    (GROUP / "memory.limit_in_bytes").write_text(str(64 << 10))
    (GROUP / "cgroup.procs").write_text(str(server.find("sglang::scheduler")))
    for _ in range(8):
        server.generate("Hello " * 60, 64)
    return "the scheduler alone gets a memory limit of 64 KiB more, then requests"


_HICACHE: dict[str, str | None] = {"--enable-hierarchical-cache": None}

ALL = {
    "hicache_too_large": Scenario(_HICACHE | {"--hicache-size": "300"}),
    "hicache_too_small": Scenario(_HICACHE | {"--hicache-ratio": "0.5"}),
    "fraction_too_small": Scenario({"--mem-fraction-static": "0.0001", "--max-total-tokens": "-"}),
    "total_tokens_small": Scenario({"--max-total-tokens": "16"}),
    "oom_while_loading": Scenario(act=_limited(1800)),
    "oom_in_scheduler": Scenario(act=_scheduler_limited),
}
