"""Whole runs on a played node: the ladder's scenarios, from the first look to the last word."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from stoker.health import plans
from stoker.health.done import Done, Task
from stoker.health.seen import Completeness, Seen, Smi, Xid
from stoker.health.situation import Situation
from stoker.recovery.climbing import End, sentence
from tests.health.nodes import container, holder, unit
from tests.recovery import playing
from tests.recovery.playing import Node, Played, climb, failed, orphan, rungs, worker


@pytest.fixture(autouse=True)
def _told(record_property: Callable[[str, object], None]) -> Iterator[None]:
    playing.told.append(record_property)
    yield
    playing.told.clear()


def played(scenario: str, *values: str) -> ParameterSet:
    """Parameters that play a scenario of their own."""
    return pytest.param(*values, marks=pytest.mark.scenario(scenario))


@pytest.mark.scenario("L1")
def test_a_clean_node_stays_as_it_is_however_often_it_is_asked() -> None:
    node = Node()
    for _ in range(2):
        end = climb(node)
        assert (end.code, end.changed) == (0, False)
    assert node.log == []


@pytest.mark.scenario("L2")
def test_a_healthy_server_is_not_touched() -> None:
    node = Node([worker()], unit(active="healthy"))
    end = climb(node, serve=True, restart=True, reset=True, stop_running=True)
    assert (end.code, end.changed, node.log) == (0, False, [])


@pytest.mark.scenario("L3")
def test_leftovers_of_a_unit_go_with_its_stop() -> None:
    node = Node([worker()], failed())
    end = climb(node)
    assert (end.code, rungs(end)) == (0, ["R1", "Z"])
    assert node.signalled == []
    assert "recovered by R1, Z; sglang.service gave a token" in sentence(end)


@pytest.mark.scenario("L4", "K3")
def test_an_orphan_beside_the_unit_is_asked_to_end() -> None:
    node = Node([orphan()], failed())
    end = climb(node)
    assert (end.code, rungs(end)) == (0, ["R1", "R2", "Z"])
    assert node.signalled == [(4711, 15)]


@pytest.mark.scenario("L5", "K4")
def test_who_ignores_that_is_killed() -> None:
    node = Node([orphan(ignores_term=True), worker(ignores_term=True)], failed())
    end = climb(node)
    assert (end.code, rungs(end)) == (0, ["R1", "R2", "R3", "Z"])
    assert any(act.startswith("echo 1 > /sys/fs/cgroup/lxc/200/ns/") for act in node.log)


@pytest.mark.scenario("L6")
def test_memory_that_comes_late_escalates_nothing() -> None:
    node = Node([orphan()], failed(), release_s=40)
    end = climb(node, restart=True, reset=True, reload=True)
    assert (end.code, rungs(end)) == (0, ["R1", "R2", "Z"])
    assert 40 <= node.clock < 60


@pytest.mark.scenario("L7")
def test_memory_that_never_comes_stops_at_what_needs_a_word() -> None:
    node = Node([orphan()], failed(), residue_until="never")
    end = climb(node)
    assert (end.code, rungs(end)) == (11, ["R1", "R2", "R4b"])
    assert "--allow-restart" in sentence(end)
    end = climb(node, restart=True)
    assert (end.code, end.decision.rung) == (11, "R5")
    assert "--allow-gpu-reset" in sentence(end)
    assert node.running
    assert node.persistence


@pytest.mark.scenario("L37")
def test_the_unit_is_never_started_while_memory_is_in_use() -> None:
    node = Node([], failed(), residue_until="never")
    climb(node, serve=True)
    assert not any("systemctl start" in act for act in node.log)


def test_memory_that_a_stopped_container_gives_back_needs_no_driver() -> None:
    node = Node([orphan()], failed(), residue_until="shutdown")
    end = climb(node, restart=True)
    assert (end.code, rungs(end)) == (0, ["R1", "R2", "R4", "Z"])
    assert node.running
    assert not any("nvidia-smi" in act for act in node.log)


def test_memory_that_hangs_on_persistence_comes_with_a_switch() -> None:
    node = Node([orphan()], failed(), residue_until="-pm 0")
    end = climb(node)
    assert (end.code, rungs(end)) == (0, ["R1", "R2", "R4b", "Z"])
    assert node.persistence


@pytest.mark.scenario("L16")
def test_persistence_that_was_off_stays_off() -> None:
    node = Node([], failed(), residue_until="never", persistence=False)
    end = climb(node, restart=True, reset=True)
    assert not node.persistence
    assert not any("-pm" in act for act in node.log)
    assert rungs(end)[-1] == "R5"


OPEN = {"restart": True, "reset": True}


@pytest.mark.scenario("L8")
def test_an_allowed_reset_brings_it_back() -> None:
    node = Node([], failed(), residue_until=" -r ")
    end = climb(node, **OPEN)
    assert (end.code, rungs(end)) == (0, ["R1", "R4", "R4b", "R5", "Z"])
    assert (node.marks, node.running, node.persistence) == (["GPU-0"], True, True)


class Reporting(Node):
    """A node on which somebody takes GPU 0 while the driver's report is made."""

    def keep(self, rung: str, situation: Situation) -> None:
        super().keep(rung, situation)
        if rung == "R5":
            self.processes = [Played(holder(950, "/user.slice/session-1.scope", 0))]


def test_who_came_while_the_evidence_was_put_aside_keeps_the_gpu_from_being_reset() -> None:
    node = Reporting([], failed(), residue_until=" -r ", others=())
    end = climb(node, **OPEN)
    assert (end.code, end.changed) == (10, True)
    assert "process 950" in end.decision.why
    assert not any(act.endswith(" -r") for act in node.log)
    assert node.marks == []


@pytest.mark.parametrize(
    "says",
    [
        played("L9", "GPU 0000:01:00.0: In use by another client"),
        played("L10", "Resetting GPU 0000:01:00.0 is not supported."),
    ],
)
@pytest.mark.scenario("L36")
def test_a_refused_reset_is_not_repeated_and_told(says: str) -> None:
    node = Node([], failed(), residue_until="never", reset_says=says, others=())
    end = climb(node, **OPEN)
    assert (end.code, end.decision.rung) == (11, "R6")
    assert sum(act.endswith(" -r") for act in node.log) == 1
    done = Done(reset_this_boot=frozenset({"GPU-0"}))
    again = Node([], failed(), residue_until="never", reset_says=says, others=())
    climb(again, done, **OPEN)
    assert not any(act.endswith(" -r") for act in again.log)


@pytest.mark.scenario("L12")
def test_a_reset_that_says_it_worked_and_did_not_is_no_success() -> None:
    node = Node([], failed(), residue_until="never", others=())
    end = climb(node, **OPEN, reload=True)
    assert (end.code, end.decision.rung) == (75, "R7")
    assert "modprobe -r nvidia_uvm" in node.log
    assert "HOST REBOOT NEEDED" in sentence(end)


@pytest.mark.scenario("L11")
def test_a_reset_that_hangs_is_left_alone_and_nothing_else_enters_the_driver() -> None:
    node = Node([], failed(), residue_until="never", hangs="-r", others=())
    end = climb(node, **OPEN, reload=True)
    assert (end.code, end.decision.rung) == (75, "X3")
    after = node.log[node.log.index("nvidia-smi -i GPU-0 -r") + 1 :]
    assert not any("modprobe" in act for act in after)


@pytest.mark.scenario("L11")
def test_a_driver_that_hangs_from_the_start_is_never_called() -> None:
    hung = Smi("hung", None, "no answer in 20 s", 20)
    node = Node([orphan()], failed(), smi=hung)
    end = climb(node, **OPEN, reload=True)
    assert (end.code, rungs(end)) == (75, ["R1", "R2"])
    assert not any("nvidia-smi" in act for act in node.log)


@pytest.mark.scenario("L14")
def test_a_foreign_holder_is_named_and_survives() -> None:
    tenant = Played(holder(900, "/lxc/201/ns/system.slice/tenant.service", 0))
    node = Node([orphan(), tenant], failed())
    end = climb(node, **OPEN, reload=True)
    assert (end.code, end.decision.rung) == (10, "X5")
    assert node.processes == [tenant]
    assert {pid for pid, _ in node.signalled} == {4711}


@pytest.mark.scenario("K8")
def test_the_neighbours_on_other_gpus_survive_every_rung() -> None:
    others = [
        Played(holder(900, "/lxc/201/ns/system.slice/tenant.service", 1)),
        Played(holder(901, "/system.slice/exporter.service", 1)),
    ]
    node = Node([orphan(ignores_term=True), *others], failed(), residue_until="never")
    end = climb(node, **OPEN, reset_beside=True, reload=True)
    assert "R5" in rungs(end)
    assert "R6" not in rungs(end)
    assert node.processes == others


@pytest.mark.scenario("L15")
def test_a_permitted_service_is_stopped_for_the_reset_and_started_again() -> None:
    exporter = Played(holder(901, "/system.slice/exporter.service"))
    node = Node([exporter], failed(), residue_until=" -r ")
    end = climb(node, **OPEN, stop_services=("exporter.service",))
    assert end.code == 0
    stop = node.log.index("systemctl stop exporter.service")
    assert stop < node.log.index("systemctl start exporter.service")
    refused = climb(Node([exporter], failed(), residue_until=" -r "), **OPEN)
    assert refused.code == 10


@pytest.mark.parametrize(
    "where, code", [("nvidia", 75), ("fuse", 11), ("nfs", 11), ("frozen-fs", 11)]
)
@pytest.mark.scenario("L17")
def test_a_task_that_cannot_die_is_never_stopped_with_its_container(where: str, code: int) -> None:
    node = Node([orphan(unkillable=where)], failed())
    end = climb(node, **OPEN, reload=True)
    assert (end.code, rungs(end)) == (code, ["R1", "R2", "R3"])
    assert not any("pct" in act for act in node.log)


def test_neither_with_another_task_of_it() -> None:
    node = Node([], failed(), residue_until="never", tasks=(Task(7, "rsync", "nfs", "rpc"),))
    end = climb(node, **OPEN)
    assert end.code == 11
    assert not any("pct" in act for act in node.log)


@pytest.mark.scenario("K6")
def test_a_respawner_outside_of_the_unit_is_told_and_needs_the_restart() -> None:
    node = Node([orphan(respawns=99)], failed())
    end = climb(node)
    assert (end.code, rungs(end)) == (11, ["R1", "R2", "R3", "R3", "R3"])
    assert "after each KILL something starts" in sentence(end)
    assert climb(Node([orphan(respawns=99)], failed()), restart=True).code == 0


REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "HA": ({"conf": {"ha": True}}, 11),
    "backup": ({"conf": {"lock": "backup"}}, 12),
    "frozen": ({"conf": {"state": "frozen"}}, 12),
    "mismatch": ({"smi": Smi("mismatch", 18, "Driver/library version mismatch", 0.1)}, 20),
    "not loaded": ({"smi": Smi("not-loaded", 9, "couldn't communicate", 0.1)}, 20),
    "no such unit": ({"unit": unit("x.service", "inactive", load="not-found")}, 2),
}


PLAYED = {
    "HA": "L19",
    "backup": "L20",
    "mismatch": "L29",
    "not loaded": "L30",
    "no such unit": "L22",
}


@pytest.mark.parametrize(
    "name", [played(PLAYED[name], name) if name in PLAYED else name for name in REFUSED]
)
def test_nothing_at_all_is_done_where_it_cannot_help(name: str) -> None:
    given, code = REFUSED[name]
    node = Node([orphan()], **{"unit": failed(), **given})
    end = climb(node, **OPEN, reload=True)
    assert (end.code, end.changed, node.log) == (code, False, [])


@pytest.mark.scenario("L21")
def test_a_stopped_container_stays_stopped() -> None:
    node = Node([], failed(), running=False, residue_until="-pm 0")
    end = climb(node, serve=True)
    assert (end.code, rungs(end)) == (0, ["R4b"])
    assert not node.running


@pytest.mark.scenario("L23")
def test_when_the_container_lets_nobody_in_its_own_unit_is_left_alone() -> None:
    node = Node([worker()], failed(), attach_fails=True)
    end = climb(node)
    assert (end.code, end.decision.rung, node.log) == (11, "S", [])


@pytest.mark.scenario("L23")
def test_with_a_word_the_cgroup_goes_even_if_nobody_is_let_in() -> None:
    node = Node([worker(ignores_term=True)], failed(), attach_fails=True)
    climb(node, stop_running=True)
    assert any("cgroup.kill" in act for act in node.log)
    assert node.processes == []


@pytest.mark.parametrize(
    "action, rung", [played("L26", "Reboot", "X2"), played("L28", "Sparkle", "R4")]
)
def test_what_the_driver_asks_for_is_heard(action: str, rung: str) -> None:
    node = Node([orphan()], failed(), residue_until="never", gpu={"recovery_action": action})
    end = climb(node, reset=True)
    assert end.decision.rung == rung
    assert not any(act.endswith(" -r") for act in node.log)


@pytest.mark.scenario("L27")
def test_a_gpu_that_fell_off_is_not_reset() -> None:
    xid = Xid(1.0, "0000:01:00.0", 79, None, "", "GPU has fallen off the bus.")
    node = Node([orphan()], failed(), residue_until="never", more={"xids": (xid,)})
    end = climb(node, **OPEN, reload=True)
    assert (end.code, rungs(end)) == (75, ["R1", "R2"])


@pytest.mark.scenario("L32")
def test_memory_without_a_figure_is_not_proved() -> None:
    node = Node([orphan()], failed(), gpu={"used_mib": None})
    end = climb(node, **OPEN)
    assert (end.code, end.decision.rung) == (13, "M")
    assert not any("systemctl start" in act for act in node.log)


def test_an_incomplete_scan_keeps_the_driver_out_of_it() -> None:
    gap = Completeness(False, ("process 1: permission denied",), (), 0.1)
    node = Node([orphan()], failed(), residue_until="never", more={"completeness": gap})
    end = climb(node, **OPEN)
    assert end.code == 13
    assert not any("nvidia-smi" in act for act in node.log)
    assert node.signalled == [(4711, 15)]


@pytest.mark.scenario("L31")
def test_a_latch_of_the_utilisation_is_left_alone() -> None:
    node = Node(gpu={"utilization_pct": 100})
    assert (climb(node).code, node.log) == (0, [])


@pytest.mark.scenario("L33")
def test_a_module_in_use_by_the_kernel_is_not_unloaded() -> None:
    node = Node([], failed(), residue_until="never", others=())
    look = node.look()
    node.more["driver"] = replace(look.driver, modules={"nvidia_uvm": 1, "nvidia": 9})
    end = climb(node, **OPEN, reload=True)
    assert end.code == 75
    assert not any("modprobe" in act for act in node.log)


@pytest.mark.scenario("L35")
def test_all_modules_go_and_come_in_order() -> None:
    node = Node([], failed(), residue_until="never", others=())
    look = node.look()
    every = {"nvidia": 0, "nvidia_uvm": 0, "nvidia_modeset": 0, "nvidia_drm": 0}
    node.more["driver"] = replace(look.driver, modules=every)
    climb(node, **OPEN, reload=True, full=True)
    modules = [act.split()[-1] for act in node.log if act.startswith("modprobe")]
    down = ["nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia"]
    assert modules == [*down, *reversed(down)]


def test_a_reload_leaves_every_gpu_in_the_persistence_mode_it_had() -> None:
    node = Node([], failed(), residue_until="never", others=())
    climb(node, **OPEN, reload=True)
    reloaded = node.log.index("modprobe nvidia_uvm")
    for uuid in ("GPU-0", "GPU-1"):
        assert f"nvidia-smi -i {uuid} -pm 1" in node.log[reloaded:]
    assert node.changes() == ()


@pytest.mark.scenario("L38")
def test_health_without_a_token_is_no_recovery() -> None:
    node = Node([orphan()], failed(), dies_at_start=True)
    end = climb(node)
    assert (end.code, end.decision.rung) == (30, "Z")
    assert "ended again" in sentence(end)


def test_a_crashed_unit_without_leftovers_is_simply_started() -> None:
    node = Node([], failed())
    end = climb(node)
    assert (end.code, rungs(end)) == (0, ["Z"])
    assert any("reset-failed" in act for act in node.log)


@pytest.mark.parametrize("given", [{}, {"serve": True}])
def test_a_unit_that_was_down_comes_up_only_if_asked_for(given: dict[str, bool]) -> None:
    node = Node([orphan()], replace(failed(), active="inactive"))
    end = climb(node, **given)
    assert end.code == 0
    assert rungs(end)[-1] == ("Z" if given else "R2")
    assert node.changes() == ()


def test_every_rung_is_climbed_once_and_within_its_bound() -> None:
    node = Node([orphan(ignores_term=True)], failed(), residue_until="never", others=())
    end = climb(node, **OPEN, reload=True)
    climbed = rungs(end)
    assert len(climbed) == len(set(climbed))
    assert node.clock < 15 * 60


def test_every_end_names_the_next_step_and_the_humans_command() -> None:
    nodes = [
        Node([orphan()], failed(), residue_until="never"),
        Node([orphan(unkillable="nvidia")], failed()),
        Node([Played(holder(900, "/lxc/201/ns", 0))], failed()),
        Node([], failed(), gpu={"used_mib": None}),
    ]
    for node in nodes:
        end: End = climb(node)
        assert end.code != 0
        assert end.decision.why
        assert end.decision.human
        assert end.decision.human in sentence(end)


def test_another_container_on_the_same_gpu_keeps_it_from_being_reset() -> None:
    node = Node([], failed(), residue_until="never", others=(container(201, 0, 1),))
    end = climb(node, **OPEN)
    assert (end.code, end.decision.rung) == (10, "R5")


@pytest.mark.scenario("L13")
@pytest.mark.parametrize("after, code", [({"minor": 3}, 11), ({"uuid": "GPU-9"}, 75)])
def test_gpus_that_are_others_after_a_reset_are_told(after: dict[str, Any], code: int) -> None:
    class Reset(Node):
        def _smi(self, words: tuple[str, ...]) -> str:
            if "-r" in words:
                self.gpu.update(after)
            return super()._smi(words)

    node = Reset([], failed(), residue_until=" -r ")
    end = climb(node, **OPEN)
    assert (end.code, end.decision.rung) == (code, "X6")
    assert not any("systemctl start" in act for act in node.log)


@pytest.mark.scenario("L34")
def test_a_major_that_changes_with_a_reload_is_told_with_the_containers_it_concerns() -> None:
    class Reloaded(Node):
        def look(self) -> Seen:
            look = super().look()
            major = 508 if "modprobe nvidia_uvm" in self.log else 511
            return replace(look, driver=replace(look.driver, majors={"nvidia-uvm": major}))

    raw = container(202, raw=True, state="stopped")
    node = Reloaded([], failed(), residue_until="modprobe nvidia_uvm", others=(raw,))
    lines: list[str] = []
    end = climb(node, also=lines.append, **OPEN, reload=True)
    assert end.code == 0
    (told,) = [line for line in lines if '"majors"' in line]
    assert "nvidia-uvm has the major 508 now, not 511" in told
    assert "CT 202" in told


@pytest.mark.scenario("L39")
def test_shared_memory_of_dead_processes_goes_before_the_start(tmp_path: Path) -> None:
    here = os.getpid()
    stays = {f"sgl_shm_mm_{here}_1", f"sglang_loads_{here}", "sgl_shm_x", "nccl-aB3", "sem.loky-1"}
    goes = {"sgl_shm_mm_99999999_0", "sgl_shm_multi_modal_99999999", "sglang_loads_99999999"}
    for name in stays | goes:
        (tmp_path / name).touch()
    script = plans.SHM.replace("/dev/shm", str(tmp_path))
    subprocess.run(["sh", "-c", script], check=True)
    assert {path.name for path in tmp_path.iterdir()} == stays
    node = Node([], failed())
    climb(node)
    log = "\n".join(node.log)
    assert log.index("/dev/shm") < log.index("systemctl start")
