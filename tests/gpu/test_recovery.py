"""Recovery's facts on a real GPU: who holds it, and what comes back when that one is killed."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stoker.health.retained import holders_of, watches_only
from stoker.health.seen import Gpu, Holder, Seen
from stoker.recovery.looking import look
from stoker.recovery.machine import Machine

HELD_MIB = 4096
RELEASE_S = 120


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The holder, compiled for this GPU."""
    nvcc = shutil.which("nvcc") or f"{os.environ.get('CUDA_HOME', '/usr/local/cuda')}/bin/nvcc"
    target = tmp_path_factory.mktemp("holder") / "holder"
    source = Path(__file__).with_name("holder.cu")
    subprocess.run([nvcc, "-arch=native", "-o", target, source], check=True)
    return target


def seen(tmp_path: Path) -> Seen:
    """A look that changes nothing of the machine's own records."""
    at = look(Machine(run=str(tmp_path), state=str(tmp_path)))
    assert at.driver.version, "no version in /sys/module/nvidia: is this a container without it?"
    assert at.driver.smi.state == "ok", at.driver.smi
    return at


def first(at: Seen) -> Gpu:
    """nvidia-smi's GPU 0; others of the machine may not be ours."""
    return next(gpu for gpu in at.gpus if gpu.index == 0)


def used_mib(at: Seen) -> int:
    used = first(at).used_mib
    assert used is not None
    return used


def holder(at: Seen, pid: int) -> Holder | None:
    return next((found for found in at.holders if found.pid == pid), None)


@contextmanager
def held(program: Path, how: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The process started, and the pid of the one that is to hold the GPU in the end."""
    words = [str(program), str(HELD_MIB), how]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said, f"the holder ended with {process.wait()}: is the GPU in use?"
        pid = int(said)
        try:
            yield process, pid
        finally:
            process.kill()
            if pid != process.pid:
                with_it_gone(pid)


def with_it_gone(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def seconds_until_free(tmp_path: Path, before_mib: int) -> float:
    began = time.monotonic()
    while time.monotonic() - began < RELEASE_S:
        if used_mib(seen(tmp_path)) <= before_mib + 256:
            return time.monotonic() - began
        time.sleep(0.1)
    raise AssertionError(f"not free after {RELEASE_S} s: {used_mib(seen(tmp_path))} MiB in use")


def test_the_look_names_gpu_driver_and_memory_as_nvidia_smi_does(tmp_path: Path) -> None:
    at = seen(tmp_path)
    query = "--query-gpu=uuid,driver_version,memory.total"
    words = ["nvidia-smi", "-i", "0", query, "--format=csv,noheader,nounits"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    gpu = first(at)
    assert told.strip().split(", ") == [gpu.uuid, at.driver.version, str(gpu.total_mib)]
    assert gpu.minor is not None
    # A container may hide the bus; a node shows it.
    if Path("/sys/bus/pci/devices", gpu.bdf).exists():
        assert gpu.binding == "nvidia"
        assert not gpu.off_bus
    print(at.driver, gpu, at.completeness)


@pytest.mark.scenario("S1", "K3")
def test_a_holder_is_seen_and_its_memory_comes_back_after_its_end(
    program: Path, tmp_path: Path
) -> None:
    before = used_mib(seen(tmp_path))
    with held(program, "") as (process, pid):
        at = seen(tmp_path)
        found = holder(at, pid)
        assert found is not None
        assert "fd" in found.evidence
        assert first(at).uuid in found.gpus
        assert used_mib(at) >= before + HELD_MIB
        print("a CUDA process has open:", found.devices, "by", found.evidence)
        print("UVM counts", first(at).uvm_retained)
        os.kill(pid, signal.SIGTERM)
        assert process.wait(timeout=RELEASE_S) == -signal.SIGTERM
        print(f"free {seconds_until_free(tmp_path, before):.2f} s after its end by SIGTERM")
    assert holder(seen(tmp_path), pid) is None


@pytest.mark.scenario("K4")
def test_a_holder_that_ignores_term_holds_until_kill(program: Path, tmp_path: Path) -> None:
    before = used_mib(seen(tmp_path))
    with held(program, "ignore-term") as (process, pid):
        os.kill(pid, signal.SIGTERM)
        time.sleep(1)
        at = seen(tmp_path)
        assert holder(at, pid) is not None
        assert used_mib(at) >= before + HELD_MIB
        os.kill(pid, signal.SIGKILL)
        process.wait(timeout=RELEASE_S)
        print(f"free {seconds_until_free(tmp_path, before):.2f} s after SIGKILL")


@pytest.mark.scenario("S8")
def test_a_child_that_outlives_its_parent_still_holds(program: Path, tmp_path: Path) -> None:
    before = used_mib(seen(tmp_path))
    with held(program, "fork") as (process, child):
        process.kill()
        process.wait()
        at = seen(tmp_path)
        found = holder(at, child)
        assert found is not None
        print(f"with the parent dead: {used_mib(at) - before} MiB more than before")
        os.kill(child, signal.SIGKILL)
        print(f"free {seconds_until_free(tmp_path, before):.2f} s after the child's SIGKILL")


def test_a_look_with_no_holder_learns_the_baseline_if_it_saw_everything(tmp_path: Path) -> None:
    at = seen(tmp_path)
    gpu = first(at)
    print(gpu.baseline_mib, at.completeness)
    # Without every privilege the scan is incomplete and says so; then nothing is learned.
    nobody = all(watches_only(held) for held in holders_of(at, gpu))
    assert gpu.baseline_learned == (at.completeness.complete and nobody)
    assert gpu.over_baseline is False
