"""The dry run: it does nothing, and what it says is what is then done."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from stoker.health.done import Permitted
from stoker.recovery.climbing import Climb
from stoker.recovery.journal import Journal
from stoker.recovery.rehearsing import Rehearsal
from tests.recovery.playing import Node, climb, failed, orphan, worker


def said(node: Node, **permitted: Any) -> dict[str, list[str]]:
    """Rung -> the acts that the dry run names."""
    lines: list[dict[str, Any]] = []
    journal = Journal(None, lambda line: lines.append(json.loads(line)))
    begun = Climb(node, journal, 200, Permitted(**permitted)).begin()
    Climb(Rehearsal(begun, journal), journal, 200, begun.permitted).run(begun)
    told: dict[str, list[str]] = {}
    for line in lines:
        if line["event"] == "would":
            told.setdefault(line["rung"], []).append(line["text"])
    return told


CASES: dict[str, tuple[list[Any], dict[str, Any], dict[str, bool]]] = {
    "freed by the stop": ([worker], {}, {}),
    "freed by TERM": ([orphan], {}, {}),
    "freed by KILL": ([lambda: orphan(ignores_term=True), lambda: worker(4900)], {}, {}),
    "late release": ([orphan], {"release_s": 40.0}, {}),
    "by the container's stop": ([], {"residue_until": "shutdown"}, {"restart": True}),
    "by a reset": ([], {"residue_until": " -r "}, {"restart": True, "reset": True}),
}


@pytest.mark.scenario("D2")
@pytest.mark.parametrize("name", CASES)
def test_what_is_done_is_what_was_said(name: str) -> None:
    processes, given, permitted = CASES[name]

    def node() -> Node:
        return Node([make() for make in processes], failed(), **given)

    plan = said(node(), **permitted)
    played = node()
    climb(played, **permitted)
    rung = ""
    for act in played.log:
        if act.startswith("-- "):
            rung = act[3:]
        elif rung in plan and rung != "Z" and not act.startswith("give back"):
            assert act in plan[rung], rung


def test_what_is_refused_is_told_with_the_humans_command() -> None:
    lines: list[dict[str, Any]] = []
    journal = Journal(None, lambda line: lines.append(json.loads(line)))
    node = Node([orphan()], failed())
    begun = Climb(node, journal, 200, Permitted()).begin()
    Climb(Rehearsal(begun, journal), journal, 200, begun.permitted).run(begun)
    (refused,) = [line for line in lines if line["event"] == "refused" and line["rung"] == "R4"]
    assert refused["human"].endswith("--allow-restart")


AUDIT = """
import os, signal, sys
FORBIDDEN = {
    "os.kill", "os.killpg", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork",
    "subprocess.Popen", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate",
    "shutil.rmtree", "socket.connect", "signal.pthread_kill",
}
def hook(event, args):
    if event in FORBIDDEN:
        raise RuntimeError(f"{event} {args}")
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR):
        raise RuntimeError(f"open {args}")
def never(*args):
    raise RuntimeError(f"pidfd_send_signal {args}")
from tests.recovery.test_rehearsing import said
from tests.recovery.playing import Node, failed, orphan, worker
node = Node([orphan(), worker()], failed(), residue_until="never")
signal.pidfd_send_signal = never
sys.dont_write_bytecode = True
sys.addaudithook(hook)
print(sorted(said(node, restart=True, reset=True)))
"""


@pytest.mark.scenario("D1")
def test_saying_it_does_nothing() -> None:
    """No signal, no program, no file written: the interpreter's own audit tells."""
    ran = subprocess.run([sys.executable, "-c", AUDIT], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("['R1', 'R2', 'R3'")


def test_what_would_follow_the_restart_is_said_too() -> None:
    plan = said(Node([orphan()], failed()), restart=True, reset=True)
    assert list(plan) == ["R1", "R2", "R3", "R4", "R4b", "R5"]
