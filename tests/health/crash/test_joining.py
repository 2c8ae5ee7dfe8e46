from __future__ import annotations

import dataclasses

import pytest

from stoker.health.crash import classes, report
from stoker.health.crash.death import Death, HostSide
from stoker.health.crash.joining import UNREAD, joined
from stoker.health.crash.telling import paragraph
from stoker.health.crash.verdict import CONFIDENCES, PHASES, Verdict
from stoker.health.kernel_log import Message
from tests.health.crash.logs import DECODE, LOAD, NINJA, READY, failed, program, verdict

T = 1_780_308_000.0
DEATH = Death("sglang@0.service", "signal", "killed", "KILL", T, T + 600.0, restarts=1)
HOST = HostSide("pve1", 200, T, (), oom_kills=0, bdfs=("0000:41:00.0",))
KILLED = "Memory cgroup out of memory: Killed process 41233 (sglang::schedul) anon-rss:9kB"
CHOSEN = "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/lxc/{},task_memcg=/lxc/{}/ns/a,pid=41233"


def silent() -> Verdict:
    """A server that served, and then no more."""
    ended = "Subprocess scheduler_0 (pid=7) crashed with exit code -9. Triggering SIGQUIT"
    return verdict(program(READY), program(DECODE), program(ended))


def host(*said: str, at: float = T + 599.0, **change: object) -> HostSide:
    """A node whose kernel said that."""
    lines = tuple(Message(at, text) for text in said)
    return dataclasses.replace(HOST, kernel=lines, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.", "gpu_lost"),
        ("NVRM: Xid (PCI:0000:41:00): 119, pid=7, name=x, Timeout after 45s", "gsp_timeout"),
        ("NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action changed from 0x0 to 0x2 (Node Reboot"
         " Required)", "reboot_required"),
        ("NVRM: API mismatch: the client has the version 570.148.08, but\n"
         "NVRM: this kernel module has the version 570.148.06.  Please", "driver_mismatch"),
    ],
)  # fmt: skip
def test_what_the_kernel_says_is_the_cause_of_a_silent_death(said: str, name: str) -> None:
    found = joined(silent(), DEATH, host(said))
    assert (found.name, found.phase, found.confidence) == (name, "decode", "high")
    assert found.line is None and found.time == T + 599.0
    assert found.action == classes.known()[name].action


def test_both_versions_of_a_mismatch_are_named() -> None:
    said = (
        "NVRM: API mismatch: the client has the version 570.148.08, but\n"
        "NVRM: this kernel module has the version 570.148.06.  Please"
    )
    cause = joined(silent(), DEATH, host(said)).cause
    assert "570.148.08" in cause and "570.148.06" in cause


def test_the_highest_authority_of_several_wins() -> None:
    fault = "NVRM: Xid (PCI:0000:41:00): 31, pid=7, name=sglang::schedul"
    lost = "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus."
    found = joined(silent(), DEATH, host(fault, lost))
    assert found.name == "gpu_lost"
    assert any("31" in detail for detail in found.details)


def test_another_containers_gpu_is_another_matter() -> None:
    said = "NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus."
    assert joined(silent(), DEATH, host(said)).name == "silent_death"


@pytest.mark.parametrize("at", [T - 3600.0, T + 3600.0])
def test_another_time_is_another_matter(at: float) -> None:
    said = "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus."
    assert joined(silent(), DEATH, host(said, at=at)).name == "silent_death"


def test_the_oom_killer_is_believed_for_the_container_that_it_names() -> None:
    ours = host(CHOSEN.format(200, 200), KILLED, memory_limit_bytes=192 * 1024**3)
    found = joined(silent(), DEATH, ours)
    assert found.name == "cgroup_oom" and "192 GiB" in found.cause
    theirs = host(CHOSEN.format(201, 201), KILLED, oom_kills=0)
    assert joined(silent(), DEATH, theirs).name == "silent_death"


def test_an_oom_kill_without_a_container_needs_a_counter_that_moved() -> None:
    moved = dataclasses.replace(DEATH, oom_kills=1)
    found = joined(silent(), moved, host(KILLED, oom_kills=3))
    assert (found.name, found.confidence) == ("cgroup_oom", "medium")
    for death, kills in ((DEATH, 0), (dataclasses.replace(DEATH, oom_kills=0), 3)):
        found = joined(silent(), death, host(KILLED, oom_kills=kills))
        assert found.name == "silent_death"
        assert not any("on the node in that minute" in detail for detail in found.details)


@pytest.mark.parametrize("kills", [3, None])
def test_an_earlier_oom_kill_makes_no_later_one_ours(kills: int | None) -> None:
    found = joined(silent(), DEATH, host(KILLED, oom_kills=kills))
    told = "the OOM killer ended sglang::schedul on the node in that minute; whether in this"
    assert found.name == "silent_death"
    assert any(detail.startswith(told) for detail in found.details)


def test_an_oom_kill_of_a_process_that_the_container_has_is_ours() -> None:
    found = joined(silent(), DEATH, host(KILLED, oom_kills=None, pids={41233: 7}))
    assert (found.name, found.confidence) == ("cgroup_oom", "high")


def test_a_node_without_memory_says_whose_process_it_ended() -> None:
    said = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task_memcg={},pid=41233"
    killed = KILLED.replace("Memory cgroup out", "Out")

    def found(path: str) -> Verdict:
        return joined(silent(), DEATH, host(said.format(path), killed, oom_kills=3))

    ours = found("/lxc/200/ns/system.slice/sglang@0.service")
    assert (ours.name, ours.confidence) == (
        "cgroup_oom",
        "high",
    ) and "the node itself" in ours.cause
    assert found("/user.slice/user-0.slice").name == "silent_death"
    other = found("/lxc/200/ns/system.slice/sglang@1.service")
    assert other.name == "silent_death"
    assert "the OOM killer ended sglang::schedul of sglang@1.service" in other.details


FAULT = "NVRM: Xid (PCI:0000:41:00): 31, pid=90412, name={}, channel 0x0000000c"


@pytest.mark.parametrize(
    ("pids", "name", "found"),
    [
        ({90412: 3233}, "ffmpeg", ("gpu_app_fault", "high")),
        ({3233: 7}, "python3", ("gpu_app_fault", "medium")),
        ({3233: 7}, "<unknown>", ("gpu_app_fault", "medium")),
        (None, "sglang::schedul", ("gpu_app_fault", "medium")),
        (None, "ffmpeg", ("silent_death", "low")),
    ],
)
def test_a_fault_on_a_shared_gpu_is_as_sure_as_its_process_is_known(
    pids: dict[int, int] | None, name: str, found: tuple[str, str]
) -> None:
    one = joined(silent(), DEATH, host(FAULT.format(name), pids=pids))
    assert (one.name, one.confidence) == found
    assert ("pid 3233 in the container" in one.cause) == bool(pids and 90412 in pids)
    assert any("Xid" in part for part in (one.text, *one.details))


def test_a_fault_that_the_log_tells_of_too_is_sure() -> None:
    said = "RuntimeError: CUDA error: an illegal memory access was encountered"
    log = verdict(program(READY), program(DECODE), failed(said))
    assert log.name == "gpu_app_fault"
    found = joined(log, DEATH, host(FAULT.format("python3")))
    assert (found.name, found.confidence) == ("gpu_app_fault", "high")


def test_a_gpu_of_nobody_knows_which_container_is_less_sure() -> None:
    said = "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus."
    assert joined(silent(), DEATH, host(said, bdfs=())).confidence == "medium"


def test_a_segfault_of_a_server_is_told() -> None:
    said = "{}[90412]: segfault at 0 ip 00007f sp 00007f error 4 in libtorch_cuda.so[7f+1000]"
    told = joined(silent(), DEATH, host(said.format("python3"))).details
    assert any(detail.startswith("kernel: python3[90412]: segfault") for detail in told)
    told = joined(silent(), DEATH, host(said.format("nginx"))).details
    assert not any("segfault" in detail for detail in told)


def test_a_line_that_says_what_is_wrong_stays() -> None:
    log = verdict(program(LOAD), failed(NINJA))
    said = "NVRM: Xid (PCI:0000:41:00): 31, pid=7, name=sglang::schedul"
    found = joined(log, DEATH, host(said))
    assert (found.name, found.line, found.cause) == (log.name, log.line, log.cause)


def test_sigkill_alone_proves_nothing_and_all_that_was_looked_at_is_told() -> None:
    found = joined(silent(), DEATH, dataclasses.replace(HOST, kernel_complete=False))
    told = "\n".join(found.details)
    assert (found.name, found.confidence) == ("silent_death", "low")
    assert "SIGKILL" in found.cause
    for part in (
        "looked at: the log",
        "result signal, killed KILL, restart 1",
        "no proof of the OOM killer",
        "does not reach back",
        "ended 0 processes of container 200",
        "last lines: Decode batch",
    ):
        assert part in told, told


def test_what_was_not_looked_at_is_told_too() -> None:
    told = "\n".join(joined(silent(), None, None).details)
    assert "not looked at: how systemd saw it end" in told
    assert "not looked at: the node's kernel log" in told


def test_a_log_that_was_not_read_is_not_said_to_show_nothing() -> None:
    log = dataclasses.replace(
        silent(), cause="its log cannot be read: no space", details=(UNREAD, "last line: x")
    )
    told = paragraph(joined(log, DEATH, None), "u")
    assert "was ended by SIGKILL, and its log cannot be read: no space" in told[0]
    assert f"  {UNREAD}" in told and "  last line: x" in told
    assert "  looked at: the log" not in told


@pytest.mark.parametrize(
    ("change", "log", "name"),
    [
        ({"result": "oom-kill"}, READY, "cgroup_oom"),
        ({"result": "timeout"}, LOAD, "start_timeout"),
        ({"result": "timeout"}, READY, "silent_death"),
        ({"result": "exit-code", "code": "exited", "status": "203"}, "", "interpreter_unreachable"),
        ({"status": "BUS"}, READY, "sigbus_shm"),
        ({"result": "core-dump", "code": "dumped", "status": "SEGV"}, READY, "silent_death"),
    ],
)
def test_what_systemd_says(change: dict[str, str], log: str, name: str) -> None:
    death = dataclasses.replace(DEATH, **change)  # type: ignore[arg-type]
    assert joined(verdict(program(log) if log else ""), death, None).name == name


def test_a_healthy_log_of_a_server_that_died_has_no_cause() -> None:
    found = joined(verdict(program(READY), program(DECODE)), DEATH, HOST)
    assert (found.name, found.phase) == ("silent_death", "decode")


def test_a_healthy_log_of_a_server_that_lives_or_was_stopped_is_well() -> None:
    well = verdict(program(READY), program(DECODE))
    assert joined(well, None, HOST) == well
    assert joined(well, dataclasses.replace(DEATH, ended=None), HOST) == well
    stopped = verdict(program(READY), program("SIGTERM received. signum=None frame=None."))
    assert joined(stopped, DEATH, HOST) == stopped


NEVER_RAN = dataclasses.replace(DEATH, result="exit-code", code="", status="")


def test_a_check_before_the_start_that_failed_is_said_to_be_one() -> None:
    log = verdict(
        "Jun 01 10:00:00 a systemd[1]: Starting sglang@0.service - SGLang...\n",
        "Jun 01 10:00:01 a sh[7]: mountpoint: /models is not a mountpoint\n",
        "Jun 01 10:00:01 a systemd[1]: sglang@0.service: Control process exited, code=exited, "
        "status=1/FAILURE\n",
    )
    found = joined(log, NEVER_RAN, None)
    assert (found.name, found.phase) == ("silent_death", "preflight")
    assert found.cause.startswith("a check before the start of sglang@0.service failed")
    assert "Read the last lines" in found.action
    assert any("is not a mountpoint" in detail for detail in found.details)


def test_a_guard_that_says_why_it_failed_is_believed() -> None:
    said = "cannot start: GPU 0 uses 40000 MiB (free: at most 1024) after 120 s of waiting; who"
    found = joined(verdict(f"Jun 01 10:00:01 a python3[7]: {said}"), NEVER_RAN, HOST)
    assert (found.name, found.phase, found.line) == ("gpu_busy", "preflight", 1)


TERM = "SIGTERM received. signum=None frame=None."


@pytest.mark.parametrize(("result", "code"), [("success", "exited"), ("signal", "killed")])
def test_a_sigterm_past_systemd_is_no_stop_on_request(result: str, code: str) -> None:
    log = verdict(program(READY), program(DECODE), program(TERM))
    death = dataclasses.replace(DEATH, result=result, code=code, asked=False)
    found = joined(log, death, HOST)
    assert (found.name, found.confidence) == ("silent_death", "medium")
    assert "somebody sent it SIGTERM past systemd" in found.cause
    assert "systemctl stop sglang@0.service" in found.action
    assert any(f"result {result}" in detail for detail in found.details)
    for asked in (True, None):
        assert joined(log, dataclasses.replace(death, asked=asked), HOST) == log


def test_a_sigterm_of_systemds_own_has_systemds_reason() -> None:
    log = verdict(program(LOAD), program(TERM))
    for result, name in (("oom-kill", "cgroup_oom"), ("timeout", "start_timeout")):
        death = dataclasses.replace(DEATH, result=result, asked=False)
        assert joined(log, death, None).name == name


def test_a_server_that_ends_by_itself_with_success_and_was_not_asked_to_has_died() -> None:
    well = verdict(program(READY), program(DECODE))
    death = dataclasses.replace(DEATH, result="success", code="exited", status="0", asked=False)
    found = joined(well, death, HOST)
    assert found.name == "silent_death" and "exit code 0" in found.cause


def test_a_verdict_comes_back_from_its_json_as_it_was() -> None:
    found = joined(silent(), DEATH, HOST)
    keys = ["class", "phase", "line", "cause", "action", "confidence", "text", "time", "details"]
    assert list(report.to_json(found)) == keys
    assert report.from_json(report.to_json(found)) == found


def test_a_human_reads_cause_line_deed_and_where_to_read_on() -> None:
    told = paragraph(verdict(program(LOAD), failed(NINJA)), "sglang@0")
    assert told[0].startswith("sglang@0: TP0: the program ninja cannot be run")
    assert told[1] == f"  line 6: {NINJA}"
    assert told[2].startswith("  do: Put the venv bin directory first")
    assert told[3] == "  more: stoker explain ninja_missing"
    assert any("looked at" in line for line in paragraph(silent(), "x"))
    assert paragraph(verdict(program(READY)), "x") == [
        "x: nothing is wrong: as far as the log goes, the server is up"
    ]


def test_every_class_says_what_it_is_and_what_to_do() -> None:
    known = classes.known()
    assert len(known) > 45 and list(known)[-1] == "none"
    for name, row in known.items():
        assert row.name == name and row.meaning and row.confirm and row.action
        assert set(row.phases) <= set(PHASES) and set(row.see) <= known.keys()
    assert verdict("").confidence in CONFIDENCES
