"""The recovery ladder as one table, read from top to bottom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from stoker.health import costly, refusals
from stoker.health import evidence as sees
from stoker.health.done import Permitted
from stoker.health.refusal import Refuses
from stoker.health.situation import Situation

Sees = Callable[[Situation], bool]


@dataclass(frozen=True)
class Row:
    """One rung, or one state that ends the run."""

    name: str
    title: str
    evidence: Sees
    step: str = ""
    """What the executor does; empty: the run ends here."""
    does: str = ""
    """The same in words."""
    bound_s: int = 0
    """Longest time for the step and its verification."""
    until: Sees = sees.never
    """What has to be seen afterwards."""
    cut: Sees = sees.never
    """What ends the waiting early, to no avail."""
    samples: int = 1
    """Consecutive looks that have to agree."""
    apart_s: float = 0.5
    """Between looks."""
    memory: bool = False
    """Whether a look needs nvidia-smi, or processes alone."""
    times: int = 1
    """How often a run may climb it."""
    next: str = ""
    """Where it goes on if that did not help."""
    refuses: tuple[Refuses, ...] = ()

    def limit_s(self, permitted: Permitted) -> float:
        """The bound; of what waits for memory alone never more than the human's own."""
        if self.step == "wait":
            return permitted.release_s
        waits = self.step == "bounce_persistence"
        return min(self.bound_s, permitted.release_s) if waits else self.bound_s


def terminal(name: str, title: str, seen: Sees, *why: Refuses, next: str = "human") -> Row:
    """A row that ends the run for one of these reasons."""
    return Row(name, title, seen, next=next, refuses=why)


TABLE: tuple[Row, ...] = (
    terminal("N", "no such target", sees.absent, refusals.no_such_target),
    terminal("X1", "driver unusable", sees.driver_unusable, refusals.driver_first),
    Row("R0", "clean", sees.clean, does="nothing; a latched utilisation figure is told (X4)"),
    terminal(
        "P",
        "not ready",
        sees.not_ready,
        refusals.locked,
        refusals.frozen,
        refusals.ha_managed,
        refusals.of_a_vm,
    ),
    terminal("X5", "held by others", sees.held_by_others, refusals.not_ours),
    Row(
        "R1",
        "stop and mask the units",
        sees.unit_in_the_way,
        step="stop",
        does="systemctl stop, then mask --runtime, for every unit that does not serve",
        bound_s=90,
        until=sees.units_down,
        next="R2",
    ),
    Row(
        "R2",
        "TERM to the holders",
        sees.held,
        step="terminate",
        does="SIGTERM through a pidfd to each holder in the container",
        bound_s=30,
        until=sees.no_holders,
        cut=sees.replaced,
        samples=2,
        next="R3",
    ),
    Row(
        "R3",
        "KILL the unit's cgroup and the holders",
        sees.held_still,
        step="kill",
        does="cgroup.kill of a unit's cgroup, SIGKILL through a pidfd to other holders",
        bound_s=15,
        until=sees.no_holders,
        cut=sees.respawned,
        samples=11,
        times=3,
        next="W, R4",
    ),
    terminal("X2", "GPU lost", sees.gone_for_good, refusals.reboot_only, next="R7"),
    terminal(
        "X6",
        "other GPUs than before",
        sees.others_now,
        refusals.gone_since,
        refusals.passed_by_number,
        next="R7",
    ),
    terminal("X3", "driver hangs", sees.driver_hangs, refusals.no_driver_calls, next="R7"),
    Row(
        "W",
        "wait for the memory",
        sees.release_is_due,
        step="wait",
        does="look until holders are gone and memory is back, twice in a row",
        bound_s=120,
        until=sees.memory_back,
        cut=sees.held,
        samples=2,
        apart_s=1.0,
        memory=True,
        times=9,
        next="R4",
    ),
    terminal("M", "memory unknown", sees.memory_unknown, refusals.cannot_verify),
    Row(
        "R4",
        "restart the container",
        sees.container_wedged,
        step="stop_container",
        does="pct shutdown, else pct stop; pct start once memory is back or the run ends",
        bound_s=150,
        until=sees.container_down,
        next="W, R4b",
        refuses=(
            costly.cannot_die,
            costly.unit_runs,
            costly.ha_restarts,
            costly.server_answers,
            costly.restart_not_allowed,
        ),
    ),
    Row(
        "R4b",
        "switch persistence mode off and on",
        sees.memory_without_holder,
        step="bounce_persistence",
        does="nvidia-smi -i UUID -pm 0, 5 s, then as it was",
        bound_s=60,
        until=sees.memory_back,
        cut=sees.driver_hangs,
        samples=2,
        apart_s=2.0,
        memory=True,
        next="R5",
        refuses=(
            costly.scan_incomplete,
            costly.anybody_holds,
            costly.persistence_is_off,
        ),
    ),
    Row(
        "R5",
        "reset the GPU",
        sees.reset_needed,
        step="reset",
        does="nvidia-smi -i UUID -r, once a boot, never ended from outside",
        bound_s=180,
        until=sees.reset_done,
        cut=sees.driver_hangs,
        samples=2,
        apart_s=2.0,
        memory=True,
        next="R6",
        refuses=(
            costly.holder_left,
            costly.unit_runs,
            costly.stranger_holds,
            costly.scan_incomplete,
            costly.figures_missing,
            costly.action_unknown,
            costly.shared,
            costly.already_reset,
            costly.reset_not_allowed,
            costly.others_compute,
            costly.ha_restarts,
            costly.container_runs,
        ),
    ),
    Row(
        "R6",
        "reload nvidia_uvm",
        sees.reload_may_help,
        step="reload",
        does="modprobe -r nvidia_uvm, modprobe nvidia_uvm; with --full all modules, never forced",
        bound_s=240,
        until=sees.reset_done,
        cut=sees.driver_hangs,
        samples=2,
        apart_s=2.0,
        memory=True,
        next="R7",
        refuses=(
            costly.holder_left,
            costly.already_reloaded,
            costly.reload_not_allowed,
            costly.scan_incomplete,
            costly.anyone_on_the_node,
            costly.gpu_containers_run,
            costly.container_runs,
            costly.module_in_use,
        ),
    ),
    Row(
        "Z",
        "start and ask for a token",
        sees.to_be_started,
        step="serve",
        does="start the container if we stopped it, unmask, reset-failed, start, a generated token",
        bound_s=1800,
        until=sees.serving,
        times=2,
        next="human",
        refuses=(refusals.served_once, refusals.occupied),
    ),
    terminal("S", "runs and does not answer", sees.unanswering, refusals.still_running),
    terminal("R7", "host reboot needed", sees.anything_else, refusals.nothing_left),
)
