"""Every row of the table: what it takes to reach it, and what refuses it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stoker.health import refusal
from stoker.health.acts import Run
from stoker.health.done import Done, Task
from stoker.health.ladder import Decision, decide
from stoker.health.plans import plan
from stoker.health.seen import Completeness, Smi, Xid
from stoker.health.table import TABLE
from tests.health.nodes import (
    SERVICE,
    after,
    container,
    gpu,
    holder,
    seen,
    situation,
    undead,
    unit,
)

ORPHAN = holder(4711, "/lxc/200/ns/.lxc", 0)
SERVICE_1 = "/lxc/200/ns/system.slice/system-sglang.slice/sglang@1.service"
USED = (gpu(0, used=91_000), gpu(1))
STUCK = seen(USED, (ORPHAN,))
LEFT = seen(USED)
"""Memory in use and nobody to see."""
HEALTHY = unit(active="healthy")
WANTED = Done(wanted=frozenset({"sglang.service"}))
ENDED = Done(rungs=("R1", "R2", "R3", "W"))


def refused(decision: Decision, rung: str) -> str:
    return next((r.reason for r in decision.refused if r.rung == rung), "")


# --- clean -------------------------------------------------------------------------------------


def test_a_node_without_trouble_is_clean() -> None:
    decision = decide(situation(seen()))
    assert (decision.rung, decision.step, decision.code) == ("R0", "", 0)


def test_the_memory_of_a_healthy_server_is_no_trouble() -> None:
    look = seen(USED, (holder(5000, SERVICE, 0),))
    assert decide(situation(look, HEALTHY)).rung == "R0"


def test_a_server_that_is_still_loading_is_left_alone() -> None:
    look = seen(USED, (holder(5000, SERVICE, 0),))
    loading = unit(active="active", sub="running", age_s=60, answers=False)
    decision = decide(situation(look, loading))
    assert (decision.rung, decision.code) == ("R0", 0)
    assert "loading" in decision.why


def test_a_monitor_beside_a_healthy_server_is_no_orphan() -> None:
    look = seen(USED, (holder(5000, SERVICE, 0), holder(5001, "/lxc/200/ns/.lxc")))
    assert decide(situation(look, HEALTHY)).rung == "R0"


def test_a_monitor_that_looks_at_the_gpu_itself_is_no_orphan_either() -> None:
    nvtop = holder(5001, "/lxc/200/ns/.lxc", 0, devices=("nvidia0", "nvidiactl"))
    look = seen(USED, (holder(5000, SERVICE, 0), nvtop))
    assert decide(situation(look, HEALTHY)).rung == "R0"
    assert situation(seen(USED, (nvtop,))).stuck == (nvtop,)


def test_a_helper_of_a_healthy_server_does_not_explain_another_gpu() -> None:
    helper = holder(5001, SERVICE, devices=("nvidiactl", "nvidia-uvm"))
    orphan = holder(4712, "/lxc/200/ns/.lxc")
    look = seen((gpu(0, 91_000), gpu(1, 91_000)), (holder(5000, SERVICE, 0), helper, orphan))
    look = replace(look, containers=(container(200, 0, 1),))
    now = situation(look, replace(HEALTHY, gpus=("GPU-0",)))
    assert [gpu.uuid for gpu in now.dirty] == ["GPU-1"]
    assert now.stuck == (orphan,)
    assert decide(now).rung == "R2"


def test_an_orphan_beside_a_healthy_server_is_ended_alone() -> None:
    now = situation(seen(USED, (holder(5000, SERVICE, 0), ORPHAN)), HEALTHY)
    assert now.stuck == (ORPHAN,)
    assert decide(now).rung == "R2"


def test_a_latched_utilisation_is_told_and_nothing_done() -> None:
    decision = decide(situation(seen((gpu(0, utilization_pct=100), gpu(1)))))
    assert (decision.rung, decision.code) == ("R0", 0)
    assert "latched" in decision.why


def test_utilisation_decides_nothing() -> None:
    idle, busy = (seen((gpu(0, 91_000, utilization_pct=pct), gpu(1))) for pct in (0, 100))
    assert decide(situation(idle)).rung == decide(situation(busy)).rung == "W"


def test_an_unknown_recovery_action_is_told_even_if_all_is_well() -> None:
    decision = decide(situation(seen((gpu(0, recovery_action="Sparkle"), gpu(1)))))
    assert decision.code == 0
    assert "Sparkle" in decision.why


def test_a_clean_node_of_which_not_all_was_seen_says_so() -> None:
    gaps = Completeness(False, ("process 9: permission denied",), (), 0.1)
    decision = decide(situation(seen(completeness=gaps)))
    assert decision.code == 0
    assert "process 9: permission denied" in decision.why


# --- what ends a run before it begins -----------------------------------------------------------

PRECHECKS = {
    "no such container": (situation(seen(containers=(container(201, 1),))), "N", 2),
    "Proxmox does not answer": (situation(replace(STUCK, containers=())), "N", 13),
    "template": (situation(seen(containers=(container(200, 0, template=True),))), "N", 2),
    "no such unit": (situation(STUCK, unit("x.service", "inactive", load="not-found")), "N", 2),
    "no such GPU": (situation(STUCK, chosen=("GPU-1",)), "N", 2),
    "backup": (situation(replace(STUCK, containers=(container(200, 0, lock="backup"),))), "P", 12),
    "frozen": (situation(replace(STUCK, containers=(container(200, 0, state="frozen"),))), "P", 12),
    "HA": (situation(replace(STUCK, containers=(container(200, 0, ha=True),))), "P", 11),
    "vfio": (situation(seen((gpu(0, 91_000, binding="vfio-pci"),), (ORPHAN,))), "P", 10),
}


@pytest.mark.parametrize("name", PRECHECKS)
def test_a_precheck_ends_the_run(name: str) -> None:
    now, rung, code = PRECHECKS[name]
    decision = decide(now)
    assert (decision.rung, decision.code) == (rung, code)
    assert decision.why
    assert decision.human


def test_a_locked_container_that_is_clean_is_clean() -> None:
    look = seen(containers=(container(200, 0, lock="backup", ha=True), container(201, 1)))
    assert decide(situation(look)).rung == "R0"


def test_ha_can_be_overruled_for_the_processes_alone() -> None:
    look = replace(STUCK, containers=(container(200, 0, ha=True),))
    assert decide(situation(look, ha=True)).rung == "R2"
    decision = decide(situation(replace(look, holders=()), done=ENDED, ha=True, restart=True))
    assert "ha-manager" in next(r.human for r in decision.refused if r.rung == "R4")


@pytest.mark.parametrize("state", ["not-loaded", "mismatch", "no-devices", "no-library", "missing"])
def test_with_an_unusable_driver_nothing_is_ended(state: str) -> None:
    decision = decide(situation(seen(USED, (ORPHAN,), smi=Smi(state, 9, "NVIDIA-SMI has", 0.1))))
    assert (decision.rung, decision.code) == ("X1", 20)
    assert decision.human


def test_without_a_driver_the_way_to_load_it_is_named() -> None:
    look = seen(USED, (ORPHAN,))
    decision = decide(situation(replace(look, driver=replace(look.driver, version=""))))
    assert decision.code == 20
    assert "modprobe" in decision.human


def test_a_container_without_gpus_needs_no_driver() -> None:
    look = seen(smi=Smi("not-loaded", 9, "", 0.1), containers=(container(200),))
    assert decide(situation(look)).rung == "R0"


def test_a_gpu_held_by_somebody_else_is_not_ours_to_free() -> None:
    stranger = holder(900, "/lxc/201/ns/system.slice/tenant.service", 0)
    decision = decide(situation(seen(USED, (stranger,)), unit(), restart=True, reset=True))
    assert (decision.rung, decision.code) == ("X5", 10)
    for word in ("900", "server-900", "CT 201 tenant.service", "2001-09-09"):
        assert word in decision.why


def test_our_own_orphans_go_first_and_the_stranger_is_named_then() -> None:
    stranger = holder(900, "/system.slice/blender.service", 0)
    now = situation(seen(USED, (ORPHAN, stranger)))
    assert decide(now).rung == "R2"
    left = replace(now, seen=seen(USED, (stranger,)))
    assert decide(after(left, "R2")).rung == "W"
    decision = decide(after(left, "R2", "W"))
    assert (decision.rung, decision.code) == ("X5", 10)
    assert "blender.service" in decision.human


def test_a_stranger_beside_a_healthy_server_is_not_our_business() -> None:
    look = seen(USED, (holder(5000, SERVICE, 0), holder(900, "/user.slice/a.scope", 0)))
    assert decide(situation(look, HEALTHY)).rung == "R0"


# --- R1 to R3 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("active", ["failed", "inactive", "deactivating", "activating"])
def test_a_unit_in_the_way_is_stopped_first(active: str) -> None:
    decision = decide(situation(STUCK, unit(active=active, sub="auto-restart")))
    assert (decision.rung, decision.step) == ("R1", "stop")


def test_with_a_healthy_sister_only_the_failed_unit_is_stopped() -> None:
    sister = unit("sglang@1.service", "healthy")
    now = situation(STUCK, unit("sglang@0.service"), sister)
    assert decide(now).rung == "R1"
    assert sister in now.left_alone


def test_a_unit_of_other_gpus_is_no_target() -> None:
    mine, other = unit(gpus=("GPU-0",)), unit("sglang@1.service", gpus=("GPU-1",))
    now = situation(STUCK, mine, other, chosen=("GPU-0",))
    assert now.targets == (mine,)


def test_a_mask_of_somebody_else_is_not_ours_to_set_or_to_give_back() -> None:
    acts = plan("stop", situation(STUCK, unit(load="masked", active="inactive")))
    assert not any("mask" in str(act) for act in acts)


def test_a_unit_that_no_mask_holds_is_stopped_alone() -> None:
    acts = plan("stop", situation(STUCK, unit(file="/etc/systemd/system/sglang.service")))
    assert [str(act).split()[-2:] for act in acts] == [["stop", "sglang.service"]]


def test_without_a_unit_the_holders_are_asked_at_once() -> None:
    assert decide(situation(STUCK)).rung == "R2"


def test_a_stopped_containers_units_are_not_asked() -> None:
    look = replace(LEFT, containers=(container(200, 0, state="stopped"),))
    assert decide(situation(look)).rung == "W"


@pytest.mark.parametrize("answers, age_s", [(False, 7200.0), (False, None)])
@pytest.mark.scenario("L38")
def test_a_silent_server_is_only_stopped_if_asked_for(answers: bool, age_s: float | None) -> None:
    look = seen(USED, (holder(5000, SERVICE, 0),))
    silent = unit(active="active", sub="running", answers=answers, age_s=age_s, said="timed out")
    decision = decide(situation(look, silent))
    assert (decision.rung, decision.code) == ("S", 11)
    assert "--stop-running" in decision.human
    assert decide(situation(look, silent, stop_running=True)).rung == "R1"


def test_a_healthy_server_is_never_stopped() -> None:
    look = seen(USED, (holder(5000, SERVICE, 0),))
    assert decide(situation(look, HEALTHY, stop_running=True)).rung == "R0"


def test_another_service_of_the_container_keeps_its_gpu() -> None:
    other = unit("whisper.service", "active", target=False, sub="running")
    look = seen(USED, (holder(5000, "/lxc/200/ns/system.slice/whisper.service", 0),))
    decision = decide(situation(look, unit(), other, done=WANTED))
    assert (decision.rung, decision.code) == ("Z", 11)
    assert "systemctl stop whisper.service" in decision.human


def test_a_users_own_unit_of_the_same_name_is_not_the_unit() -> None:
    path = "/lxc/200/ns/user.slice/user-0.slice/user@0.service/app.slice/sglang.service"
    assert situation(seen(USED, (holder(5000, path, 0),)), HEALTHY).stuck


def test_the_rungs_follow_each_other_while_the_holder_stays() -> None:
    now = situation(STUCK, unit())
    assert decide(now).rung == "R1"
    assert decide(after(now, "R1")).rung == "R2"
    assert decide(after(now, "R1", "R2")).rung == "R3"


def test_a_respawned_holder_is_killed_three_times_at_most() -> None:
    killed = frozenset({(1, 10)})
    now = situation(STUCK, done=Done(rungs=("R2", "R3"), ended=killed))
    assert now.respawned == (ORPHAN,)
    assert decide(now).rung == "R3"
    decision = decide(after(now, "R3", "R3"))
    assert decision.code == 11
    assert "starts process 4711" in decision.why
    assert "--allow-restart" in decision.human


def test_killed_holders_that_stay_are_not_killed_again() -> None:
    now = situation(STUCK, done=Done(rungs=("R2", "R3"), ended=frozenset({(4711, 47110)})))
    assert decide(now).rung == "R4"


def test_a_control_node_counts_only_while_memory_is_unaccounted_for() -> None:
    maybe = holder(4711)
    assert situation(seen(USED, (maybe,))).stuck == (maybe,)
    assert situation(seen(holders=(maybe,))).stuck == ()


@pytest.mark.scenario("O7")
def test_a_container_of_a_longer_number_is_another() -> None:
    assert not situation(seen(USED, (holder(9, "/lxc/2000/ns", 0),))).stuck


# --- waiting, and what cannot be known -----------------------------------------------------------


def test_memory_is_waited_for_before_anything_else_is_done() -> None:
    assert decide(situation(LEFT)).rung == "W"
    assert decide(situation(LEFT, done=Done(rungs=("R1", "R2")))).rung == "W"


def test_one_good_look_is_not_enough_after_something_was_ended() -> None:
    assert decide(situation(seen(), done=Done(rungs=("R2",)))).rung in ("W", "R0")
    wanted = Done(rungs=("R1", "R2"), wanted=frozenset({"sglang.service"}))
    assert decide(situation(seen(), unit(active="inactive"), done=wanted)).rung == "W"


def test_memory_that_nobody_can_tell_is_not_proved() -> None:
    decision = decide(situation(seen((gpu(0, used=None), gpu(1))), done=ENDED))
    assert (decision.rung, decision.code) == ("M", 13)


def test_when_the_driver_hangs_processes_are_still_ended_but_it_is_not_asked_again() -> None:
    hung = Smi("hung", None, "no answer in 20 s", 20)
    blind = seen((gpu(0, used=None), gpu(1, used=None)), (ORPHAN,), smi=hung)
    assert decide(situation(blind)).rung == "R2"
    decision = decide(situation(replace(blind, holders=()), done=ENDED, reset=True, restart=True))
    assert (decision.rung, decision.code) == ("X3", 75)


LOST = {
    "Xid 79": seen(USED, xids=(Xid(1.0, "0000:01:00.0", 79, None, "", "fallen off"),)),
    "all ones": seen((gpu(0, None, off_bus=True), gpu(1))),
    "nvidia-smi says so": seen((gpu(0, None, error="GPU is lost"), gpu(1))),
    "exit 15": seen(
        (gpu(0, None), gpu(1)), smi=Smi("lost", 15, "handle for GPU0000:01:00.0: GPU is lost", 1)
    ),
    "recovery action": seen((gpu(0, 91_000, recovery_action="Reboot"), gpu(1))),
}


@pytest.mark.parametrize("name", LOST)
def test_a_lost_gpu_needs_a_reboot_and_is_never_reset(name: str) -> None:
    decision = decide(situation(LOST[name], done=ENDED, reset=True, restart=True, reload=True))
    assert (decision.rung, decision.code) == ("X2", 75)
    assert "BMC" in decision.human


def test_holders_of_a_lost_gpu_are_still_ended() -> None:
    look = replace(LOST["Xid 79"], holders=(ORPHAN,))
    assert decide(situation(look, unit())).rung == "R1"


def test_another_gpus_xid_is_not_ours() -> None:
    xid = Xid(1.0, "0000:02:00.0", 79, None, "", "")
    assert decide(situation(seen(xids=(xid,)))).rung == "R0"


# --- R4 ------------------------------------------------------------------------------------------


def test_a_restart_needs_to_be_allowed_and_the_driver_is_switched_instead() -> None:
    decision = decide(situation(LEFT, unit("sglang@1.service", "healthy"), done=ENDED))
    assert decision.rung == "R4b"
    assert "end sglang@1.service" in refused(decision, "R4")


def test_an_allowed_restart_comes_before_the_driver() -> None:
    assert decide(situation(LEFT, done=ENDED, restart=True)).rung == "R4"


@pytest.mark.parametrize(
    "where, code, word",
    [
        ("nvidia", 75, "BMC"),
        ("fuse", 11, "/sys/fs/fuse"),
        ("nfs", 11, "umount -f"),
        ("frozen-fs", 11, "fsfreeze"),
        ("other", 75, "BMC"),
    ],
)
def test_what_cannot_die_forbids_the_restart(where: str, code: int, word: str) -> None:
    done = replace(ENDED, ended=frozenset({(4711, 47110)}))
    look = seen(USED, (undead(4711, where, 0),))
    decision = decide(situation(look, done=done, restart=True, reset=True))
    assert decision.code == code
    assert word in decision.human
    assert "4711" in refused(decision, "R4")


def test_any_task_of_the_container_that_cannot_die_forbids_the_restart() -> None:
    undying = (Task(77, "rsync", "nfs", "nfs_wait"),)
    decision = decide(situation(LEFT, done=ENDED, undying=undying, restart=True))
    assert "rsync" in refused(decision, "R4")


def test_a_server_that_answers_is_not_restarted_for_memory_elsewhere() -> None:
    both = seen((gpu(0, 91_000), gpu(1, 91_000)), (holder(5000, SERVICE_1, 1),))
    look = replace(both, containers=(container(200, 0, 1),))
    sister = unit("sglang@1.service", "healthy")
    decision = decide(situation(look, unit(), sister, done=ENDED, restart=True))
    assert any("which answers" in one.reason for one in decision.refused if one.rung == "R4")
    # Nobody has the GPU itself, and the sister's is another one.
    assert decision.rung == "R4b"


def test_a_shutdown_in_vain_has_ended_before_the_stop_needs_its_lock() -> None:
    _, shutdown, _ = plan("stop_container", situation(LEFT, done=ENDED, restart=True))
    assert isinstance(shutdown, Run)
    within = int(shutdown.words[shutdown.words.index("--timeout") + 1])
    assert 2 * within + 5 < shutdown.limit_s


def test_an_unreadable_ha_state_forbids_the_restart() -> None:
    look = replace(LEFT, containers=(container(200, 0, ha=None),))
    assert refused(decide(situation(look, done=ENDED, restart=True)), "R4")


# --- R4b to R6 -----------------------------------------------------------------------------------

STOPPED = seen(USED, containers=(container(200, 0, state="stopped"), container(201, 1)))
RESTARTED = replace(ENDED, rungs=(*ENDED.rungs, "R4", "W"))
BOUNCED = replace(RESTARTED, rungs=(*RESTARTED.rungs, "R4b"))
OPEN = {"restart": True, "reset": True}


def test_persistence_is_switched_when_nobody_holds_the_gpu() -> None:
    daemon = holder(800, "/system.slice/nvidia-persistenced.service", 0, 1)
    assert decide(situation(replace(STOPPED, holders=(daemon,)), done=RESTARTED)).rung == "R4b"


BOUNCE_REFUSED = {
    "any holder": replace(STOPPED, holders=(holder(900, "/system.slice/exporter.service"),)),
    "incomplete": replace(STOPPED, completeness=Completeness(False, ("process 9: EACCES",), (), 1)),
    "off already": replace(STOPPED, gpus=(gpu(0, 91_000, persistence=False), gpu(1))),
    "unknown": replace(STOPPED, gpus=(gpu(0, 91_000, persistence=None), gpu(1))),
}


@pytest.mark.parametrize("name", BOUNCE_REFUSED)
def test_persistence_is_left_alone(name: str) -> None:
    assert refused(decide(situation(BOUNCE_REFUSED[name], done=RESTARTED)), "R4b")


def test_the_default_stops_at_the_reset_with_the_words_that_allow_it() -> None:
    decision = decide(situation(STOPPED, done=BOUNCED))
    assert (decision.rung, decision.step, decision.code) == ("R5", "", 11)
    assert decision.human.endswith("200 --allow-gpu-reset")


def test_the_first_rung_that_can_be_opened_is_the_one_that_is_told() -> None:
    decision = decide(situation(LEFT, done=replace(ENDED, rungs=(*ENDED.rungs, "R4b"))))
    assert (decision.rung, decision.code) == ("R4", 11)
    assert refused(decision, "R5")


def test_an_allowed_reset_is_done_on_a_stopped_container() -> None:
    assert decide(situation(STOPPED, done=BOUNCED, **OPEN)).rung == "R5"


def test_the_driver_may_ask_for_a_reset_although_memory_is_unknown() -> None:
    asks = gpu(0, None, recovery_action="Reset", error="GPU requires reset")
    look = replace(STOPPED, gpus=(asks, gpu(1)))
    assert decide(situation(look, done=RESTARTED, **OPEN)).rung == "R5"


RESET_REFUSED = {
    "a stranger": (replace(STOPPED, holders=(holder(900, "/system.slice/e.service"),)), {}, 10),
    "incomplete": (BOUNCE_REFUSED["incomplete"], {}, 13),
    "unknown action": (
        replace(STOPPED, gpus=(gpu(0, 91_000, recovery_action="Sparkle"), gpu(1))),
        {},
        75,
    ),
    "shared": (
        seen(USED, containers=(container(200, 0, state="stopped"), container(201, 0, 1))),
        {},
        10,
    ),
    "other GPUs": (
        replace(STOPPED, holders=(holder(900, "/lxc/201/ns/system.slice/t.service", 1),)),
        {},
        11,
    ),
    "still running": (replace(LEFT, containers=(container(200, 0),)), {"restart": False}, 11),
    "not allowed": (STOPPED, {"reset": False}, 11),
}


@pytest.mark.parametrize("name", RESET_REFUSED)
def test_a_reset_is_refused(name: str) -> None:
    look, changed, code = RESET_REFUSED[name]
    done = replace(ENDED, rungs=(*ENDED.rungs, "R4b")) if name == "still running" else BOUNCED
    decision = decide(situation(look, done=done, **{**OPEN, **changed}))
    assert refused(decision, "R5")
    assert decision.code == code


def test_other_gpus_may_be_declared_isolated() -> None:
    look = RESET_REFUSED["other GPUs"][0]
    assert decide(situation(look, done=BOUNCED, reset_beside=True, **OPEN)).rung == "R5"


def test_a_service_that_may_be_stopped_does_not_refuse_the_reset() -> None:
    look = replace(STOPPED, holders=(holder(900, "/system.slice/e.service", 0, 1),))
    now = situation(look, done=BOUNCED, stop_services=("e.service",), **OPEN)
    assert decide(now).rung == "R5"


def test_a_second_reset_in_one_boot_is_refused() -> None:
    done = replace(BOUNCED, reset_this_boot=frozenset({"GPU-0"}))
    decision = decide(situation(STOPPED, done=done, **OPEN))
    assert "already" in refused(decision, "R5")
    assert (decision.rung, decision.code) == ("R6", 11)


def test_a_monitor_of_the_node_has_no_memory_but_keeps_the_driver_as_it_is() -> None:
    exporter = holder(900, "/system.slice/dcgm-exporter.service", 0, devices=("nvidia0",))
    decision = decide(situation(replace(STOPPED, holders=(exporter,)), done=RESTARTED))
    assert "dcgm-exporter.service" in refused(decision, "R4b")
    assert (decision.rung, decision.code) == ("R4b", 10)


def test_what_uvm_alone_holds_needs_no_reset_first() -> None:
    look = replace(STOPPED, gpus=(gpu(0, 91_000, uvm_retained=1), gpu(1)))
    assert refused(decide(situation(look, done=BOUNCED)), "R6").endswith("--allow-driver-reload")


RESET = replace(BOUNCED, rungs=(*BOUNCED.rungs, "R5"))
ALONE = seen(USED, containers=(container(200, 0, state="stopped"),))


def test_a_reload_needs_its_own_word_and_an_idle_node() -> None:
    assert decide(situation(ALONE, done=RESET, **OPEN)).code == 11
    assert decide(situation(ALONE, done=RESET, reload=True, **OPEN)).rung == "R6"
    running = decide(situation(STOPPED, done=RESET, reload=True, **OPEN))
    assert (running.rung, running.code) == ("R6", 10)


def test_a_module_that_the_kernel_uses_is_not_unloaded() -> None:
    driver = replace(ALONE.driver, modules={"nvidia_uvm": 2})
    decision = decide(situation(replace(ALONE, driver=driver), done=RESET, reload=True, **OPEN))
    assert decision.code == 75
    assert "2 users" in refused(decision, "R6")


def test_any_holder_on_the_node_forbids_the_reload() -> None:
    look = replace(ALONE, holders=(holder(900, "/system.slice/e.service", 1),))
    assert refused(decide(situation(look, done=RESET, reload=True, **OPEN)), "R6")


def test_after_the_last_rung_only_a_sentence_is_left() -> None:
    done = replace(RESET, rungs=(*RESET.rungs, "R6"), reloaded_this_boot=True)
    decision = decide(situation(ALONE, done=done, reload=True, **OPEN))
    assert (decision.rung, decision.step, decision.code) == ("R7", "", 75)
    assert "91000 MiB" in decision.why
    assert "reboot pve1" in decision.human


# --- Z -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("active", ["failed", "inactive"])
def test_a_wanted_unit_is_started_once_memory_is_back(active: str) -> None:
    assert decide(situation(seen(), unit(active=active), done=WANTED)).rung == "Z"


@pytest.mark.scenario("L37")
def test_a_unit_is_never_started_onto_memory_in_use() -> None:
    done = replace(WANTED, rungs=("R1", "W", "R4b"))
    decision = decide(situation(LEFT, unit(active="inactive"), done=done))
    assert decision.code == 11
    assert decision.rung == "R4"


def test_a_unit_that_was_down_stays_down() -> None:
    assert decide(situation(seen(), unit(active="inactive"))).rung == "R0"


def test_a_unit_of_a_container_that_was_stopped_stays_down() -> None:
    done = replace(WANTED, ran=False)
    assert decide(situation(seen(), unit(active="inactive"), done=done)).rung == "R0"


def test_a_unit_that_dies_again_is_told_apart_from_memory() -> None:
    done = replace(WANTED, rungs=("Z",), failed=(("Z", "sglang.service died"),))
    decision = decide(situation(seen(), unit(), done=done))
    assert (decision.rung, decision.code, decision.why) == ("Z", 30, "sglang.service died")


def test_a_unit_that_loads_is_followed_to_its_token_only_if_it_has_to_serve() -> None:
    loading = unit(active="active", sub="running", answers=False, age_s=5)
    assert decide(situation(seen(), loading, done=WANTED)).rung == "R0"
    assert decide(situation(seen(), loading, done=WANTED, serve=True)).rung == "Z"


# --- the table itself ----------------------------------------------------------------------------


def test_every_row_that_acts_is_bounded_and_verified() -> None:
    for row in TABLE:
        if row.step:
            assert row.bound_s > 0
            assert row.does
            assert row.next
            assert row.until.__name__ != "never"
        else:
            assert row.name == "R0" or row.refuses


def test_every_predicate_and_refusal_has_words_for_the_drawing() -> None:
    for row in TABLE:
        for function in (row.evidence, row.until, row.cut, *row.refuses):
            assert function.__doc__, function.__name__


def test_the_ladder_never_reboots() -> None:
    assert {row.step for row in TABLE if row.name in ("R7", "X2", "X3")} == {""}
    assert refusal.REBOOT == 75


def test_the_humans_command_keeps_what_was_allowed_already() -> None:
    decision = decide(situation(STOPPED, done=BOUNCED, restart=True, serve=True))
    assert decision.human.endswith(" 200 --serve --allow-restart --allow-gpu-reset")
