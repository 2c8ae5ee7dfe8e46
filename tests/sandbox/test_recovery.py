"""The ladder on real containers and real processes, in stuck states that `break` brings about.

Servers are small stand-ins, so that each scenario takes seconds; test_main_job.py has the real one.
Meanwhile a neighbour's server and a sister server of the same container must never notice.
"""

import re
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.sandbox.standin import Neighbour, Recovery, Room, room, sandbox

pytestmark = pytest.mark.sandbox

RESTART, RESET, RELOAD = "--allow-restart", "--allow-gpu-reset", "--allow-driver-reload"
ISOLATED = "--reset-scope isolated"

Note = Callable[[str, object], None]


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    with room("test-rec", tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture(autouse=True)
def unharmed(at: Room) -> Iterator[None]:
    """Before: all is well. After: the neighbour has answered every time."""
    at.whole_again()
    tenant = at.site.node("pct exec 250 -- systemctl show -p MainPID --value tenant").stdout
    with Neighbour(at.site.instance) as neighbour:
        yield
    assert neighbour.missed == []
    assert tenant == at.site.node("pct exec 250 -- systemctl show -p MainPID --value tenant").stdout


def cleared(at: Room, record: Note, *words: str) -> Recovery:
    """Recovered with everything serving, and a second call that finds nothing to do."""
    found = at.recover("--serve", *words)
    record("rung", ",".join(found.rungs))
    assert (found.code, found.changed) == (0, True), found.text
    assert at.answers(0)
    assert at.answers(3)
    again = at.recover("--serve", *words)
    assert (again.code, again.changed) == (0, False), again.text
    return found


@pytest.mark.scenario("L1", "L2")
def test_a_healthy_container_is_left_alone_twice(at: Room) -> None:
    pids = at.pid(0), at.pid(3)
    for found in (at.recover("--serve"), at.recover()):
        assert (found.code, found.changed) == (0, False), found.text
    assert (at.pid(0), at.pid(3)) == pids


@pytest.mark.scenario("L4", "K3", "K8", "K9", "K10", "S8")
def test_orphans_are_ended_and_the_sister_server_lives(at: Room, record_property: Note) -> None:
    at.stuck("forked-child")
    sleeper = at.inside("setsid sleep 1000 >/dev/null 2>&1 & echo $!").strip()
    init = at.site.node("lxc-info -n 200 -p -H").stdout
    found = cleared(at, record_property)
    assert "R4" not in found.rungs
    assert at.site.node("lxc-info -n 200 -p -H").stdout == init
    at.inside(f"kill {sleeper}")


@pytest.mark.scenario("K8")
def test_eight_orphans_are_ended(at: Room, record_property: Note) -> None:
    at.stuck("eight-orphans")
    cleared(at, record_property)


@pytest.mark.scenario("L5", "K4")
def test_a_holder_that_ignores_term_gets_kill(at: Room, record_property: Note) -> None:
    at.stuck("term-ignorer")
    assert "R3" in cleared(at, record_property).rungs


@pytest.mark.scenario("S3")
def test_a_holder_whose_main_thread_has_ended_is_found(at: Room, record_property: Note) -> None:
    at.stuck("zombie-leader")
    cleared(at, record_property)


@pytest.mark.scenario("S2")
def test_a_holder_by_mapping_alone_is_found(at: Room, record_property: Note) -> None:
    at.stuck("mapped-only")
    cleared(at, record_property)


@pytest.mark.scenario("K6", "L7")
def test_a_respawner_needs_the_container_restarted(at: Room, record_property: Note) -> None:
    at.stuck("respawner")
    refused = at.recover("--serve", RESTART)
    assert refused.code == 11, refused.text
    assert "sglang@3.service, which answers" in refused.text
    assert at.answers(3)
    at.alone()
    refused = at.recover("--serve")
    assert refused.code == 11, refused.text
    assert RESTART in refused.text
    assert "R4" in cleared(at, record_property, RESTART).rungs


@pytest.mark.scenario("K7")
def test_a_fork_bomb_ends_at_the_latest_with_the_container(at: Room, record_property: Note) -> None:
    at.stuck("fork-bomb")
    at.alone()
    cleared(at, record_property, RESTART)


@pytest.mark.scenario("L17", "S7")
def test_an_unkillable_holder_is_named_and_the_container_not_stopped(
    at: Room, record_property: Note
) -> None:
    at.stuck("frozen-disk")
    found = at.recover("--serve", RESTART)
    record_property("rung", ",".join(found.rungs))
    assert found.code in (11, 75), found.text
    assert "R4" not in found.rungs
    assert "frozen" in found.text or "freeze" in found.text
    assert "running" in at.site.node("pct status 200").stdout
    assert at.answers(3)
    sandbox(at.site.instance, "break", "--heal")
    cleared(at, record_property)


@pytest.mark.scenario("L14")
def test_a_neighbour_that_holds_our_gpu_is_named_and_left_alone(at: Room) -> None:
    at.stuck("neighbour-holds")
    found = at.recover("--serve", RESTART, RESET)
    assert found.code == 10, found.text
    assert "250" in found.text


@pytest.mark.scenario("L15")
def test_a_service_of_the_node_is_named_and_left_alone(at: Room) -> None:
    at.stuck("host-holds")
    found = at.recover("--serve", RESTART, RESET)
    assert found.code == 10, found.text
    assert ".service" in found.text


@pytest.mark.scenario("L6")
def test_memory_that_comes_back_late_is_waited_for(at: Room, record_property: Note) -> None:
    at.stuck("late-release")
    found = cleared(at, record_property, RESTART, "--release-wait 60")
    assert not {"R4", "R4b"} & set(found.rungs)


@pytest.mark.scenario("L7")
def test_memory_held_by_the_container_itself_comes_back_with_its_restart(
    at: Room, record_property: Note
) -> None:
    at.stuck("release-after-container-stop")
    at.alone()
    assert "R4" in cleared(at, record_property, RESTART).rungs


@pytest.mark.scenario("L7", "L16")
def test_memory_that_hangs_on_persistence_is_freed_by_switching_it(
    at: Room, record_property: Note
) -> None:
    at.stuck("release-after-persistence-bounce")
    # The switch alone takes seven seconds, and as long again where others use the processor.
    assert "R4b" in cleared(at, record_property, RESTART, "--release-wait 30").rungs
    query = "nvidia-smi --query-gpu=persistence_mode --format=csv,noheader"
    assert set(at.site.node(query).stdout.split()) == {"Enabled"}


@pytest.mark.scenario("L7", "L8")
def test_memory_that_stays_needs_a_reset_that_was_allowed(at: Room, record_property: Note) -> None:
    at.stuck("never-release")
    at.alone()
    in_vain = "--release-wait 4"
    refused = at.recover("--serve", RESTART, in_vain)
    assert refused.code == 11, refused.text
    assert RESET in refused.text
    assert "R5" in cleared(at, record_property, RESTART, RESET, ISOLATED, in_vain).rungs


@pytest.mark.scenario("L11")
def test_with_a_hung_nvidia_smi_nothing_enters_the_driver_again(at: Room) -> None:
    at.stuck("smi-hang")
    at.stuck("term-ignorer")
    found = at.recover("--serve", RESTART, RESET)
    hung = at.site.node("pgrep -fc '^/var/lib/stoker-gpu/python/bin/python3.*nvidia_smi'", False)
    assert found.code in (13, 75), found.text
    assert int(hung.stdout) <= 2, "a second nvidia-smi was started while the first hung"


@pytest.mark.scenario("L27")
def test_a_lost_gpu_ends_in_the_sentence_that_a_reboot_is_needed(at: Room) -> None:
    at.stuck("gpu-lost")
    found = at.recover("--serve", RESTART, RESET)
    assert found.code == 75, found.text
    assert not {"R5", "R6"} & set(found.rungs)


@pytest.mark.scenario("L29", "L30")
@pytest.mark.parametrize("scenario", ["driver-mismatch", "driver-not-loaded"])
def test_a_driver_that_does_not_work_is_not_cured_by_killing(at: Room, scenario: str) -> None:
    pids = at.pid(0), at.pid(3)
    at.stuck(scenario)
    found = at.recover("--serve", RESTART, RESET, RELOAD)
    assert found.code == 20, found.text
    assert (at.pid(0), at.pid(3)) == pids


@pytest.mark.scenario("L31")
def test_full_utilization_without_memory_is_no_fault(at: Room) -> None:
    at.stuck("utilization-latch")
    found = at.recover("--serve", RESTART, RESET)
    assert (found.code, found.changed) == (0, False), found.text


@pytest.mark.scenario("L20")
def test_a_container_that_a_backup_has_locked_is_not_touched(at: Room) -> None:
    at.stuck("term-ignorer")
    at.site.node("pct set 200 --lock backup")
    try:
        found = at.recover("--serve", RESTART)
    finally:
        at.site.node("pct unlock 200")
    assert found.code == 12, found.text
    assert "backup" in found.text


@pytest.mark.scenario("L21")
def test_a_container_that_was_stopped_stays_stopped(at: Room) -> None:
    at.site.node("pct stop 200")
    found = at.recover("--serve", RESTART)
    assert (found.code, found.changed) == (0, False), found.text
    assert "stopped" in at.site.node("pct status 200").stdout


@pytest.mark.scenario("L24", "L41")
def test_a_run_goes_on_when_its_ssh_drops_and_the_next_call_picks_it_up(at: Room) -> None:
    at.stuck("late-release")
    line = "timeout 3 python3 /var/lib/stoker/stoker.pyz recover 200 --serve"
    assert at.site.node(line, check=False).returncode == 124
    assert "active" in at.site.node("systemctl is-active stoker-recover-200", check=False).stdout
    found = at.recover("--serve")
    assert found.code == 0, found.text
    assert at.answers(0)


@pytest.mark.scenario("L25", "L40")
@pytest.mark.parametrize("signal", ["TERM", "KILL"])
def test_a_run_that_is_killed_leaves_nothing_masked_for_the_next_one(at: Room, signal: str) -> None:
    at.stuck("late-release")
    line = "timeout 4 python3 /var/lib/stoker/stoker.pyz recover 200 --serve"
    at.site.node(line, check=False)
    at.site.node(f"systemctl kill --signal={signal} stoker-recover-200")
    at.site.node("for _ in $(seq 50); do systemctl is-active -q stoker-recover-200 || break; "
                 "sleep 0.2; done")  # fmt: skip
    if signal == "TERM":
        assert "masked" not in at.inside("systemctl is-enabled sglang@0", check=False)
    found = at.recover("--serve", "--release-wait 60")
    assert found.code == 0, found.text
    assert "masked" not in at.inside("systemctl is-enabled sglang@0 sglang@3", check=False)
    assert at.answers(0)


@pytest.mark.scenario("D1", "D2")
def test_a_dry_run_tells_what_it_would_do_and_does_nothing(at: Room) -> None:
    at.stuck("term-ignorer")
    before = processes(at)
    trace = (
        "apt-get install -qy strace >/dev/null 2>&1; strace -f -o /tmp/trace -e trace="
        "kill,tkill,tgkill,pidfd_send_signal,execve,write,openat,ftruncate,unlink,rename,mkdir "
    )
    done = at.site.node(
        f"{trace} python3 /var/lib/stoker/stoker.pyz recover 200 --serve {RESTART} --dry-run",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "holder" in done.stdout
    traced = at.site.node("cat /tmp/trace").stdout.splitlines()
    # Signal 0 is lxc-attach's look whether the container is still there.
    assert [line for line in traced if re.search(r"pidfd_send_signal\(\d+, [^0]", line)] == []
    # It may give up a child of its own that reads for it.
    own = {line.split()[0] for line in traced}
    assert set(re.findall(r"kill\((\d+), ", "\n".join(traced))) <= own
    started = [line for line in traced if "execve(" in line and " = 0" in line]
    doing = ("systemctl stop", "mask", "pct ", "-pm", '"-r"', "modprobe", "systemd-run")
    assert [line for line in started if any(word in line for word in doing)] == []
    opened = [line for line in traced if "openat(" in line and "O_WRONLY" in line]
    assert [line for line in opened if "cgroup" in line] == []
    assert processes(at) == before


def processes(at: Room) -> list[str]:
    """Start time and name of every process of CT 200 that is not one of this question."""
    script = "for s in /proc/[0-9]*/stat; do cat $s; done 2>/dev/null"
    stats = [line.rpartition(")") for line in at.inside(script).splitlines()]
    kept = [(head, tail.split()[19]) for head, _, tail in stats]
    return sorted(
        f"{head} {start}" for head, start in kept if "(sh" not in head and "(cat" not in head
    )


@pytest.mark.scenario("L22")
def test_a_unit_that_is_not_there_is_said(at: Room) -> None:
    found = at.recover("--unit", "no-such.service")
    assert found.code == 2, found.text
    assert "no-such.service" in found.text


def test_every_scenario_of_break_is_listed_by_name(at: Room) -> None:
    listed = subprocess.run(
        ["python3", "-m", "stoker.sandbox", "break", "--list"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert len(listed) >= 8
    assert len(set(listed)) == len(listed)
