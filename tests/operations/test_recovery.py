import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyinfra.context import ctx_state

from stoker.facts.files import FileState, FileStates
from stoker.facts.gpu_node import RecoveryPlan
from stoker.operations import recovery
from stoker.recovery import bundle
from stoker.serving import layout
from stoker.serving.hostdata import Recovery
from tests.operations.hosts import FakeHost, here, words

PYZ = "/var/lib/stoker/stoker.pyz"
END = {"time": 0, "rung": "", "event": "end"}
CLEAN = [{**END, "code": 0, "changed": False, "text": "CT 200 is clean"}]
STUCK = [
    {"time": 0, "event": "would", "rung": "R1", "text": "systemctl stop sglang.service"},
    {**END, "code": 0, "changed": True, "text": "would be recovered"},
]
FOREIGN = [{**END, "code": 10, "changed": False, "text": "CT 250 holds GPU-aa"}]


@pytest.fixture(autouse=True)
def preparing() -> Iterator[SimpleNamespace]:
    """pyinfra's state before anything is executed."""
    state = SimpleNamespace(is_executing=False)
    with ctx_state.use(state):  # type: ignore[arg-type]
        yield state


def cleared(plans: dict[int, Any], **containers: Recovery) -> tuple[list[Any], FakeHost]:
    def plan(vmid: int, options: tuple[str, ...]) -> Any:
        return plans[vmid]

    wanted = {int(name[2:]): allowed for name, allowed in containers.items()}
    with here({RecoveryPlan: plan}) as host:
        return list(recovery.cleared._inner(wanted)), host


def test_stoker_pyz_is_placed_whole_and_executable() -> None:
    with here({FileStates: {}}):
        told = words(recovery.installed._inner())
    assert told == [
        "install -d -m 0755 -- /var/lib/stoker",
        f"install -m 0755 -- /dev/null {PYZ}.stoker-new",
        f"upload {PYZ}.stoker-new",
        f"mv -fT -- {PYZ}.stoker-new {PYZ}",
    ]


def test_the_same_version_is_not_placed_again() -> None:
    there = {PYZ: FileState(bundle.digest(), 0o755, "root:root")}
    with here({FileStates: there}) as host:
        assert list(recovery.installed._inner()) == []
    assert host.noops == [f"{PYZ} is of this version"]


def test_clean_containers_are_no_change() -> None:
    commands, host = cleared({200: CLEAN, 201: CLEAN}, ct200=Recovery(), ct201=Recovery())
    assert (commands, host.noops) == ([], ["2 container(s) are clean"])


def test_a_dry_run_tells_the_plan_line_by_line() -> None:
    commands, host = cleared({200: STUCK}, ct200=Recovery())
    assert len(commands) == 1
    would, end = host.said
    assert would.startswith("CT 200: ")
    assert would.endswith(" R1  would: systemctl stop sglang.service")
    assert end.endswith(" would be recovered")


def test_in_execution_the_plan_is_not_told_the_ladder_tells_itself(
    preparing: SimpleNamespace,
) -> None:
    preparing.is_executing = True
    commands, host = cleared({200: STUCK}, ct200=Recovery())
    assert (len(commands), host.said) == (1, [])


def test_only_stuck_containers_are_climbed_with_what_their_data_allow() -> None:
    allowed = Recovery(allow_restart=True, allow_stop_service=["dcgm.service", "exporter.service"])
    (command,), _ = cleared({200: CLEAN, 201: STUCK}, ct200=Recovery(), ct201=allowed)
    assert command.args == [
        {
            201: (
                *("--serve", "--allow-restart"),
                *("--allow-stop-service", "dcgm.service"),
                *("--allow-stop-service", "exporter.service"),
            )
        }
    ]


@pytest.mark.parametrize("plan", [FOREIGN, []])
def test_a_foreign_holder_or_a_plan_that_did_not_come_is_not_clean(plan: Any) -> None:
    commands, _ = cleared({200: plan}, ct200=Recovery())
    assert len(commands) == 1


def climbed(said: str, succeeds: bool = False) -> tuple[bool, FakeHost]:
    host = FakeHost({})
    host.stdout, host.succeeds = said, succeeds
    return recovery.climb(None, host, {200: ("--serve",)}), host


def test_the_node_runs_its_own_file_by_its_own_python() -> None:
    done, host = climbed("R1 done", succeeds=True)
    assert (done, host.said) == (True, [])
    assert host.done[0].endswith(f" sh {PYZ} recover 200 --serve")


@pytest.mark.parametrize("code", [1, 2, 10, 11, 12, 13, 20, 30, 75])
def test_every_failure_is_one_sentence_with_what_to_do(code: int) -> None:
    done, host = climbed(f"...\nexit code {code}")
    (said,) = host.said
    assert not done
    assert said.startswith("cannot recover CT 200: ")
    assert ";" in said or "," in said


def test_a_code_nobody_knows_and_an_output_cut_off_are_failures_too() -> None:
    assert climbed("exit code 77")[1].said == [
        "cannot recover CT 200: stoker.pyz ended with 77; see its lines above"
    ]
    assert not climbed("the connection was")[0]


def test_one_that_fails_keeps_none_of_the_others_from_recovery() -> None:
    host = FakeHost({})
    host.stdout, host.succeeds = "exit code 10", False
    assert not recovery.climb(None, host, {200: (), 201: ()})
    assert len(host.done) == 2


def test_a_connection_that_drops_ends_the_following_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: Any, **__: Any) -> None:
        raise OSError("the connection ended")

    host = FakeHost({})
    monkeypatch.setattr(host, "run_shell_command", lost)
    assert not recovery.climb(None, host, {200: ()})
    assert host.said == [
        "cannot follow the recovery of CT 200: the connection ended; it goes on by itself on the "
        "node, run this again to follow it"
    ]


def test_the_shell_tells_the_exit_code_after_the_lines(tmp_path: Path) -> None:
    script = tmp_path / "stoker.pyz"
    script.write_text("import sys; print('R1', *sys.argv[1:]); sys.exit(10)")
    done = subprocess.run(
        ["sh", "-c", recovery._RUN, "sh", script, "recover", "200"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (10, "R1 recover 200\nexit code 10\n")


def test_the_file_is_where_the_guard_and_the_runbook_say() -> None:
    assert str(layout.PYZ) == PYZ
