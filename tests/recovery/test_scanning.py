"""The scan, on real processes that hide what they hold."""

import os
import subprocess
from pathlib import Path

import pytest

from stoker.health.seen import Holder
from stoker.recovery import processes
from stoker.recovery.machine import Machine
from stoker.recovery.scanning import scan

from .holding import FULL, GPU, TARGETS, TUN, ZERO, Holders, machine_of, needs_root

pytestmark = needs_root


def found(holders: Holders, *pids: int) -> dict[int, Holder]:
    """Holders among these processes."""
    machine = machine_of(holders.folder, {pid for pid in pids if alive(pid)})
    seen, completeness = scan(machine, TARGETS)
    assert completeness.complete
    return {holder.pid: holder for holder in seen}


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def only(holders: Holders, *words: object, lines: int = 1) -> Holder:
    """The one holder of a start."""
    held = holders.start(*words, lines=lines)
    seen = found(holders, held.starter, *held.holding)
    assert list(seen) == list(held.holding)
    return seen[held.holding[0]]


@pytest.mark.scenario("S1")
def test_an_open_file_makes_a_holder(holders: Holders) -> None:
    holder = only(holders, holders.node(FULL), "--comm", "server")
    assert holder.evidence == ("fd",)
    assert holder.devices == ("nvidia0",)
    assert holder.gpus == (GPU,)
    assert (holder.name, holder.threads) == ("server", 1)
    assert holder.stuck.kind == ""
    assert holder.command.endswith("--comm server")
    assert holder.ns_pid == holder.pid


def test_its_start_is_told_in_ticks_and_as_a_time(holders: Holders) -> None:
    holder = only(holders, holders.node(FULL))
    told = subprocess.run(
        ["ps", "-o", "etimes=", "-p", str(holder.pid)], capture_output=True, text=True, check=True
    )
    now = subprocess.run(["date", "+%s.%N"], capture_output=True, text=True, check=True).stdout
    assert abs(float(now) - holder.since - int(told.stdout)) < 2
    stat = Path(f"/proc/{holder.pid}/stat").read_text().rpartition(")")[2].split()
    assert holder.start_ticks == int(stat[19])


@pytest.mark.scenario("S2")
def test_a_mapping_whose_file_is_closed_makes_a_holder(holders: Holders) -> None:
    holder = only(holders, holders.node(ZERO), "--map")
    assert holder.evidence == ("map",)
    assert holder.devices == ("nvidiactl",)
    assert holder.gpus == ()


@pytest.mark.scenario("S3")
def test_a_thread_whose_main_thread_has_ended_still_holds(holders: Holders) -> None:
    holder = only(holders, holders.node(FULL), "--zombie-leader")
    assert list(Path(f"/proc/{holder.pid}/fd").iterdir()) == []
    assert (holder.state, holder.threads) == ("Z", 2)
    assert holder.stuck.kind == "zombie-leader"
    assert holder.command == ""


def test_a_mapping_of_a_process_without_its_main_thread_is_seen(holders: Holders) -> None:
    held = holders.start(holders.node(ZERO), "--map", "--zombie-leader")
    seen, _ = scan(Machine(), TARGETS)  # only the real /proc shows a thread by its number
    assert [one.evidence for one in seen if one.pid == held.starter] == [("map",)]


def test_a_thread_with_a_file_table_of_its_own_holds(holders: Holders) -> None:
    assert only(holders, holders.node(FULL), "--own-table", "--threads", 3).evidence == ("fd",)


def test_threads_that_share_their_table_are_looked_at_once(holders: Holders) -> None:
    """Among all processes of this machine: elsewhere the kernel is not asked who shares what."""
    shared = holders.start(holders.node(FULL), "--fds", 200, "--threads", 100).starter
    alone = holders.start(holders.node(FULL), "--own-table", "--threads", 3).starter
    found_ones, _ = processes.found(Machine(), TARGETS.wanted)
    mine = {one.pid: one for one in found_ones if one.pid in (shared, alone)}
    assert [one.tables.found for one in mine.values()] == [{FULL}, {FULL}]
    assert mine[shared].tables.files < 300


@pytest.mark.scenario("S5")
def test_a_process_that_has_ended_is_no_holder(holders: Holders) -> None:
    held = holders.start(holders.node(FULL), "--zombie-child", lines=2)
    assert list(found(holders, *held.holding, *held.zombies)) == list(held.holding)


@pytest.mark.scenario("S6")
def test_a_parent_that_waits_for_vfork_is_a_holder_that_waits(holders: Holders) -> None:
    held = holders.start(holders.node(FULL), "--vfork", lines=2)
    seen = found(holders, *held.holding)
    parent, child = held.holding
    assert (seen[parent].state, seen[parent].stuck.kind) == ("D", "waiting")
    assert seen[child].stuck.kind == ""


@pytest.mark.scenario("S8")
def test_a_child_that_outlives_its_parent_holds(holders: Holders) -> None:
    held = holders.start(holders.node(FULL), "--orphan")
    assert held.holding != (held.starter,)
    assert list(found(holders, *held.holding)) == list(held.holding)


@pytest.mark.scenario("S9")
def test_a_file_in_flight_is_not_seen(holders: Holders) -> None:
    held = holders.start(holders.node(FULL), "--in-flight")
    assert found(holders, *held.holding) == {}


@pytest.mark.scenario("S14")
def test_a_file_open_three_times_is_one_device(holders: Holders) -> None:
    assert only(holders, holders.node(FULL), "--dup").devices == ("nvidia0",)


@pytest.mark.scenario("S16")
def test_control_nodes_alone_make_a_holder_of_no_certain_gpu(holders: Holders) -> None:
    holder = only(holders, holders.node(ZERO), holders.node(ZERO, "the-same-again"))
    assert holder.devices == ("nvidiactl",)
    assert holder.gpus == ()


@pytest.mark.scenario("S17")
def test_a_regular_file_called_as_the_node_makes_no_holder(
    holders: Holders, tmp_path: Path
) -> None:
    dev = tmp_path / "dev"
    dev.mkdir()
    (dev / "nvidia0").write_text("")
    held = holders.start(dev / "nvidia0")
    assert found(holders, *held.holding) == {}


@pytest.mark.scenario("S18")
def test_a_node_deleted_meanwhile_still_counts(holders: Holders) -> None:
    node = holders.node(FULL)
    held = holders.start(node)
    node.unlink()
    assert list(found(holders, *held.holding)) == list(held.holding)


@pytest.mark.scenario("S19")
def test_the_same_device_under_another_name_counts(holders: Holders) -> None:
    assert only(holders, holders.node(FULL, "harmless")).devices == ("nvidia0",)


@pytest.mark.scenario("S12")
def test_a_name_with_brackets_does_not_confuse(holders: Holders) -> None:
    holder = only(holders, holders.node(FULL), "--comm", "x) R 1 (")
    assert (holder.name, holder.threads) == ("x) R 1 (", 1)


@pytest.mark.scenario("S15")
def test_the_kernels_threads_are_left_out(tmp_path: Path) -> None:
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    kernel = [pid for pid in pids if int(_stat(pid)[6]) & 0x00200000]
    if not kernel:
        pytest.skip("no thread of the kernel is visible in this pid namespace")
    seen, completeness = scan(machine_of(tmp_path, kernel))
    assert seen == ()
    assert completeness.maps_unknown == ()


def test_the_scan_leaves_itself_out(tmp_path: Path, holders: Holders) -> None:
    with holders.node(FULL).open("rb"):
        assert scan(machine_of(tmp_path, [os.getpid()]))[0] == ()


def test_a_scan_of_what_it_may_read_is_complete(tmp_path: Path, holders: Holders) -> None:
    held = holders.start(holders.node(TUN))
    seen, completeness = scan(machine_of(tmp_path, held.holding))
    assert [holder.devices for holder in seen] == [("nvidia-uvm",)]
    assert completeness.complete
    assert completeness.unreadable == ()


@pytest.mark.scenario("S11")
def test_processes_that_end_meanwhile_are_no_gap(tmp_path: Path, holders: Holders) -> None:
    pids = [holders.start(holders.node(FULL)).starter for _ in range(3)]
    machine = machine_of(tmp_path, pids)
    holders.end()
    seen, completeness = scan(machine)
    assert seen == ()
    assert completeness.complete


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["0"] * 20
