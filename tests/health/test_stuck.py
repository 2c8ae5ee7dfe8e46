"""Why a process might not die, from stacks as kernels print them."""

import pytest

from stoker.health.stuck import EXITING, Thread, classify, frames, in_driver

FROZEN = """\
[<0>] percpu_rwsem_wait+0x11d/0x140
[<0>] __percpu_down_read+0x54/0x60
[<0>] vfs_write+0x3b9/0x400
"""
DRIVER = """\
[<0>] os_acquire_rwlock_write+0x35/0x50 [nvidia]
[<0>] _nv042330rm+0x10/0x40 [nvidia]
[<0>] nvidia_close+0x11c/0x2e0 [nvidia]
[<0>] __fput+0x96/0x2a0
"""
UVM = (
    "[<0>] uvm_va_space_destroy+0x482/0x710 [nvidia_uvm]\n[<0>] uvm_release+0x1/0x2 [nvidia_uvm]\n"
)
FUSE = "[<0>] request_wait_answer+0x13f/0x210 [fuse]\n[<0>] fuse_simple_request+0x1/0x2 [fuse]\n"
NFS = "[<0>] rpc_wait_bit_killable+0x11/0x70 [sunrpc]\n[<0>] nfs4_proc_getattr+0x1/0x2 [nfsv4]\n"
PIDNS = "[<0>] zap_pid_ns_processes+0x113/0x1c0\n[<0>] do_exit+0x9ff/0xb00\n"
OLD = (
    "[<ffffffffc0a1b2c3>] nvidia_open+0x1f/0x2 [nvidia]\n[<ffffffffffffffff>] 0xffffffffffffffff\n"
)

SIGKILL = 0x100


@pytest.mark.parametrize(
    ("stack", "where", "frame"),
    [
        (FROZEN, "frozen-fs", "percpu_rwsem_wait"),
        (DRIVER, "nvidia", "os_acquire_rwlock_write"),
        (UVM, "nvidia", "uvm_va_space_destroy"),
        (FUSE, "fuse", "request_wait_answer"),
        (NFS, "nfs", "rpc_wait_bit_killable"),
        (PIDNS, "pidns", "zap_pid_ns_processes"),
        (OLD, "nvidia", "nvidia_open"),
        ("[<0>] io_schedule+0x46/0x80\n", "other", "io_schedule"),
    ],
)
def test_a_stack_tells_where_it_waits(stack: str, where: str, frame: str) -> None:
    stuck = classify("D", [Thread("D", stack=stack)])
    assert (stuck.kind, stuck.where, stuck.frame) == ("waiting", where, frame)


def test_without_a_stack_the_wait_channel_tells() -> None:
    stuck = classify("D", [Thread("D", wchan="request_wait_answer")])
    assert (stuck.where, stuck.frame) == ("fuse", "request_wait_answer")


def test_without_either_the_place_is_another() -> None:
    assert classify("D", [Thread("D", wchan="0")]).frame == ""
    assert classify("D", [Thread("D")]).where == "other"


def test_a_process_that_runs_or_sleeps_is_not_stuck() -> None:
    for state in "RSTtI":
        assert classify(state, [Thread(state)]).kind == ""


def test_sigkill_pending_in_state_d_is_unkillable() -> None:
    assert classify("D", [Thread("D", pending=SIGKILL, stack=FROZEN)]).kind == "unkillable"
    assert classify("D", [Thread("D", pending=0x4000, stack=FROZEN)]).kind == "waiting"


def test_one_thread_that_cannot_be_killed_is_enough() -> None:
    threads = [Thread("S"), Thread("D", stack=FUSE), Thread("D", pending=SIGKILL, stack=DRIVER)]
    stuck = classify("S", threads)
    assert (stuck.kind, stuck.where) == ("unkillable", "nvidia")


def test_a_main_thread_that_ended_before_the_others_is_told() -> None:
    assert classify("Z", [Thread("Z"), Thread("S")]).kind == "zombie-leader"


def test_where_the_thread_that_is_left_waits_is_told_too() -> None:
    stuck = classify("Z", [Thread("Z"), Thread("S"), Thread("D", stack=FROZEN)])
    assert (stuck.kind, stuck.where) == ("zombie-leader", "frozen-fs")


def test_a_process_whose_threads_have_all_ended_is_not_stuck() -> None:
    assert classify("Z", [Thread("Z", flags=EXITING)], has_files=False).kind == ""


@pytest.mark.scenario("S22")
def test_on_its_way_out_without_files_it_is_in_the_release() -> None:
    stuck = classify("D", [Thread("D", flags=EXITING, stack=DRIVER)], has_files=False)
    assert (stuck.kind, stuck.where) == ("exiting", "nvidia")
    assert in_driver(DRIVER)
    assert in_driver(UVM)
    assert not in_driver(FROZEN)


def test_frames_name_function_and_module() -> None:
    assert frames(UVM)[0] == ("uvm_va_space_destroy", "nvidia_uvm")
    assert frames(FROZEN)[0] == ("percpu_rwsem_wait", "")
    assert frames("") == []
