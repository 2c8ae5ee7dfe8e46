"""Bringing servers up, each to its first token, and taking them down."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gevent
from pyinfra.api import OperationError, QuoteString, StringCommand

from stoker.facts.startup import Look
from stoker.operations.following import PROGRESS_S, Beat, follow, look_at, say
from stoker.operations.foreign import clear_the_way
from stoker.serving.following import Patience, waves
from stoker.serving.unit import Unit

STOP_S = 600
"""Above TimeoutStopSec: systemd has sent KILL long before, so what is left cannot die."""

STOP_LOOK_S = 0.3
"""Nobody is served meanwhile."""


@dataclass(frozen=True)
class Bringing:
    """Units that have to serve, and what else goes on meanwhile."""

    units: tuple[Unit, ...]
    ours: frozenset[str]
    """Every unit of ours on the machine, wanted or not: they are in nobody's way by accident."""
    right: frozenset[str] = frozenset()
    """Of these the process is right already: they are only followed."""
    patience: Patience = field(default_factory=Patience)
    beat: Beat = lambda: None
    served: Callable[[Unit], None] = lambda unit: None
    """Called with each unit that answers, before the next wave is touched."""


def bring_up(host: Any, bringing: Bringing) -> None:
    """Start and follow them, one of each flag set first; raises OperationError at a failure."""
    by_name = {unit.name: unit for unit in bringing.units}
    for wave in waves([(unit.name, unit.flagset) for unit in bringing.units]):
        units = [by_name[name] for name in wave]
        fresh = [unit for unit in units if unit.name not in bringing.right]
        if fresh:
            names = tuple(unit.name for unit in fresh)
            take_down(host, names, bringing.beat)
            # The ports are free now, or somebody else took them in between.
            clear_the_way(host, fresh, bringing.ours, stop_foreign=False)
            systemctl(host, "start", "--no-block", *names)
        follow(host, units, bringing.patience, bringing.beat)
        for unit in units:
            bringing.served(unit)


def take_down(host: Any, names: tuple[str, ...], beat: Beat = lambda: None) -> None:
    """Stop and forget how it ended: 0.5.12 ends its own stop by KILL, which systemd calls failed.

    Forgetting also clears a start limit that earlier failures used up.
    """
    systemctl(host, "stop", "--no-block", *names)
    began = told = time.monotonic()
    while left := [name for name in names if not _is_down(look_at(host, name))]:
        beat()
        now = time.monotonic()
        if now - began > STOP_S:
            raise OperationError(
                f"cannot stop {', '.join(left)}: still there after {STOP_S} s; "
                "recover the container from its node"
            )
        if now - told >= PROGRESS_S:
            say(host, f"stopping {', '.join(left)}: {now - began:.0f} s")
            told = now
        gevent.sleep(STOP_LOOK_S)
    # A unit that systemd has never seen cannot be reset; that is no failure.
    systemctl(host, "reset-failed", *names, must=False)


def systemctl(host: Any, verb: str, *words: str, must: bool = True) -> None:
    """Raises OperationError with what it says if it fails and `must` not."""
    command = StringCommand("systemctl", verb, *map(QuoteString, words))
    done, output = host.run_shell_command(command)
    if must and not done:
        raise OperationError(
            f"cannot {verb} {' '.join(words)}: systemctl says: {output.stderr}; correct it there"
        )


def _is_down(look: Look | None) -> bool:
    return look is None or (look.active in ("inactive", "failed") and not look.queued)
