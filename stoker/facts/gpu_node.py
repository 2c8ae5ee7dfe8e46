"""A node's GPUs, who holds them, and what recovery would do: told by `stoker.pyz` on the node.

pyinfra inventory/lab.py --limit pve fact stoker.facts.gpu_node.GpuNode
pyinfra inventory/lab.py --limit pve fact stoker.facts.gpu_node.RecoveryPlan vmid=200

Both travel in a command line and leave nothing on the node's disk. They are plain data here, which
pyinfra's `fact` command prints as JSON; `seen` and `planned` make our types of them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from pyinfra.api import FactBase, StringCommand

from stoker.health.seen import Seen
from stoker.recovery import bundle
from stoker.recovery.printing import sentence

LOOK_S = 90
"""A look bounds each of its own steps; this is for a machine that answers nothing any more."""
_SEEN = TypeAdapter(Seen)


class GpuNode(FactBase[dict[str, Any] | None]):
    """One look at a node, as `stoker.health.seen.Seen` has it. None: no such node, or no look.

    `smi`: whether nvidia-smi is asked too; without it memory is not known, and it is quick.
    """

    def command(self, smi: bool = True) -> StringCommand:
        words = ["look", "--json"] if smi else ["look", "--json", "--no-smi"]
        return _within(LOOK_S, words)

    def process(self, output: list[str]) -> dict[str, Any] | None:
        looked: dict[str, Any] = json.loads("\n".join(output))
        return looked


class RecoveryPlan(FactBase[Sequence[dict[str, Any]]]):
    """What `recover` would do for a container, as the lines it tells; nothing: it told none.

    `options`: its words, such as `--allow-restart`. The plan is of the moment: nobody acts on it.
    """

    @staticmethod
    def default() -> Sequence[dict[str, Any]]:
        return []

    def command(self, vmid: int, options: Sequence[str] = ()) -> StringCommand:
        words = ["recover", str(vmid), *options, "--dry-run", "--json"]
        # Its exit code says what it found, which is no failure of the fact.
        return StringCommand(_within(LOOK_S, words), "|| true")

    def process(self, output: list[str]) -> Sequence[dict[str, Any]]:
        return [json.loads(line) for line in output if line.startswith("{")]


@dataclass(frozen=True)
class Plan:
    """What recovery would do now."""

    code: int | None
    """The exit code it would end with, see `stoker.recovery`; None: the plan has no end."""
    changes: bool
    """Whether it would do anything."""
    texts: tuple[str, ...]
    """Its lines, in order: what was seen, the rungs with their commands, what is refused."""


def seen(looked: dict[str, Any] | None) -> Seen | None:
    """The look as our type; None where there was none."""
    return None if looked is None else _SEEN.validate_python(looked)


def planned(events: Sequence[dict[str, Any]]) -> Plan:
    """The plan in `RecoveryPlan`'s lines."""
    end = next((event for event in events if event.get("event") == "end"), {})
    texts = tuple(line for event in events if (line := sentence(event)))
    code = end.get("code")
    return Plan(code, bool(end.get("changed")) or code != 0, texts)


def _within(seconds: int, words: Sequence[str]) -> StringCommand:
    return StringCommand("timeout", "--kill-after=5", str(seconds), bundle.command(words))
