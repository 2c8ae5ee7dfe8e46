"""A real instance on this machine: what a node and a fresh container are like.

Its name is its own; whatever happens, it is taken down at the end.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.sandbox import breakage, lifecycle, lxc_node, network, places
from stoker.sandbox import state as states
from stoker.sandbox.lifecycle import Size
from stoker.sandbox.state import State
from tests.sandbox.site import mounted

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox needs root"),
]
NAME = "test-sbx"
COMMAND = [sys.executable, "-m", "stoker.sandbox"]
# Holds the GPUs' nodes for as long as its file in /tmp is there, outside any shell's reach.
HOLD = "LD_PRELOAD=libcuda.so.1 setsid sleep 600 >/dev/null 2>&1 </dev/null & echo $!"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[State]:
    _gone(NAME)
    try:
        yield lifecycle.up(NAME, Size(gpus=2))
    finally:
        _gone(NAME)


def _gone(name: str) -> None:
    if states.exists(name):
        lifecycle.down(name)


def on_node(state: State, *words: str) -> str:
    return lxc_node.attach(state, state.nodes[0], list(words))


def in_container(state: State, script: str) -> str:
    return on_node(state, "pct", "exec", "200", "--", "sh", "-c", script)


def ssh(state: State, *options: str) -> "subprocess.CompletedProcess[str]":
    words = ["ssh", "-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={state.known_hosts}"]
    words += ["-o", "StrictHostKeyChecking=yes", "-F", "none", *options]
    address = f"root@{state.nodes[0].address}"
    return subprocess.run(
        [*words, address, "hostname"], capture_output=True, text=True, check=False
    )


def settled(state: State) -> str:
    """What the container's systemd says once it has finished starting."""
    time.sleep(1)
    return in_container(state, "systemctl is-system-running --wait").strip()


def test_the_node_and_its_container_have_a_systemd_that_runs(sandbox: State) -> None:
    assert on_node(sandbox, "systemctl", "is-system-running").strip() == "running"
    assert settled(sandbox) == "running"


def test_the_node_is_reached_by_its_key_and_shows_the_host_key_we_wrote(sandbox: State) -> None:
    assert ssh(sandbox, "-i", str(sandbox.ssh_key)).stdout == "pve1\n"
    refused = ssh(sandbox, "-o", "IdentitiesOnly=yes", "-i", "/dev/null")
    assert "Permission denied (publickey)" in refused.stderr


def test_the_node_has_cgroup2_alone_and_containers_where_proxmox_has_them(sandbox: State) -> None:
    mounts = on_node(sandbox, "grep", "cgroup", "/proc/mounts").split("\n")
    assert [line.split()[2] for line in mounts if "/sys/fs/cgroup" in line] == ["cgroup2"]
    init = on_node(sandbox, "lxc-info", "-n", "200", "-p", "-H").strip()
    assert "0::/lxc/200/ns/init.scope" in on_node(sandbox, "cat", f"/proc/{init}/cgroup")
    assert on_node(sandbox, "stat", "-c", "%u", f"/proc/{init}").strip() == "100000"


def test_a_fresh_container_has_neither_python_nor_curl(sandbox: State) -> None:
    found = in_container(sandbox, "command -v python3 curl wget gcc; true")
    assert found == ""


def test_apt_reaches_its_archives_in_the_node_and_in_the_container(sandbox: State) -> None:
    words = "apt-get update -q 2>&1 | tail -1"
    assert "Reading package lists" in in_container(sandbox, words)
    assert "Reading package lists" in on_node(sandbox, "sh", "-c", words)


def test_gpu_nodes_open_in_the_container_and_are_those_of_the_node(sandbox: State) -> None:
    names = "/dev/nvidia0 /dev/nvidia1 /dev/nvidiactl /dev/nvidia-uvm /dev/nvidia-uvm-tools"
    numbers = f"stat -c %t:%T {names}"
    assert in_container(sandbox, numbers) == on_node(sandbox, "sh", "-c", numbers)
    in_container(sandbox, f"for node in {names}; do : <>$node || exit 1; done")


def test_nvidia_smi_answers_the_same_in_node_and_container(sandbox: State) -> None:
    listed = in_container(sandbox, "nvidia-smi -L")
    assert listed.count("RTX PRO 6000 Blackwell") == 2
    assert listed == on_node(sandbox, "nvidia-smi", "-L")


def test_a_process_with_the_driver_library_is_a_real_holder(sandbox: State) -> None:
    inner = in_container(sandbox, HOLD).strip()
    query = ["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"]
    time.sleep(0.3)
    seen = set(on_node(sandbox, *query).split())
    assert len(seen) == 1
    assert "/lxc/200/" in on_node(sandbox, "cat", f"/proc/{next(iter(seen))}/cgroup")
    assert set(in_container(sandbox, " ".join(query)).split()) == {inner}
    in_container(sandbox, f"kill {inner}")
    time.sleep(0.3)
    assert on_node(sandbox, *query).strip() == ""


def test_the_container_has_the_model_and_the_library_of_the_drivers_version(sandbox: State) -> None:
    listed = in_container(sandbox, "ldconfig -p | grep -c 'libcuda.so.1 '; ls /models/sandbox-tiny")
    assert listed.split()[0] == "1"
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(listed.split())
    owner = in_container(sandbox, "stat -c %U /models /usr/bin/nvidia-smi /etc/ld.so.cache")
    assert owner.split() == ["root", "root", "root"]


def test_an_injected_failure_shows_in_the_container_and_is_healed(sandbox: State) -> None:
    breakage.inject(sandbox, "driver-mismatch")
    assert "version mismatch" in in_container(sandbox, "nvidia-smi; true")
    breakage.heal(sandbox)
    assert "version mismatch" not in in_container(sandbox, "nvidia-smi")


def test_a_second_up_changes_nothing_and_takes_seconds(sandbox: State) -> None:
    init = on_node(sandbox, "lxc-info", "-n", "200", "-p", "-H")
    begun = time.monotonic()
    assert lifecycle.up(NAME, lifecycle.size_of(sandbox)) == sandbox
    assert time.monotonic() - begun < 10
    assert on_node(sandbox, "lxc-info", "-n", "200", "-p", "-H") == init


def test_after_a_boot_of_the_node_uvm_has_another_major_and_the_container_runs(
    sandbox: State,
) -> None:
    before = on_node(sandbox, "stat", "-c", "%t", "/dev/nvidia-uvm")
    lxc_node.stop(sandbox, sandbox.nodes[0])
    lifecycle.up(NAME, lifecycle.size_of(sandbox))
    assert on_node(sandbox, "stat", "-c", "%t", "/dev/nvidia-uvm") != before
    assert settled(sandbox) == "running"
    assert in_container(sandbox, "stat -c %t /dev/nvidia-uvm") != before


def test_killed_at_any_moment_up_is_simply_run_again_and_down_leaves_nothing() -> None:
    name = "test-kill"
    try:
        for pause_s in (0.8, 2.5, 5.0):
            words = [*COMMAND, "up", "--name", name, "--gpus", "1"]
            running = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL)
            time.sleep(pause_s)
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        state = lifecycle.up(name, Size(gpus=1))
        assert settled(state) == "running"
    finally:
        _gone(name)
    assert not places.instance(name).exists()
    assert not Path("/sys/class/net", f"stk-{name}").exists()
    listed = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=True)
    assert network.table(f"stk-{name}") not in listed.stdout
    assert mounted(name) == []
    assert not [path for path in places.ROOT.iterdir() if name in path.name]
