"""All of them by name."""

from __future__ import annotations

from tests.health.crash.provoke import flags, hub, kills, machine, memory, model_files, ports

ALL = flags.ALL | hub.ALL | machine.ALL | model_files.ALL | ports.ALL | memory.ALL | kills.ALL
