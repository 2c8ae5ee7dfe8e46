"""The node fetches each wheel once, checked, and its containers see the store."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stoker.facts.interpreter import Distribution, Interpreter
from stoker.facts.mount_points import MountPoint, MountPoints
from stoker.facts.wheel_store import Store, WheelStore
from stoker.operations import wheels
from stoker.serving import store
from stoker.serving.lock import Wheel
from tests.operations import locks
from tests.operations.given import Given, commands, run

FULL = {
    wheel.file: wheel.size_bytes for tag in ("cp311", "cp313") for wheel in locks.made(tag).wheels
}
ROOM = 10**12


@dataclass
class Run:
    """The inventory and the state of a run: two containers, of which those named are reached."""

    hosts: dict[str, Given]
    active_hosts: set[Any] = field(default_factory=set)

    def get_host(self, name: str) -> Given:
        return self.hosts[name]


@pytest.fixture(autouse=True)
def _two_containers(monkeypatch: pytest.MonkeyPatch) -> Run:
    bookworm = Given({Interpreter: Distribution("debian", "12")}, "gpu-a")
    trixie = Given({Interpreter: Distribution("debian", "13")}, "gpu-b")
    reached = Run({"gpu-a": bookworm, "gpu-b": trixie}, {bookworm, trixie})
    monkeypatch.setattr(wheels, "inventory", reached)
    monkeypatch.setattr(wheels, "state", reached)
    monkeypatch.setattr(wheels, "placed", lambda tool: Path("/cache") / tool.file)
    return reached


def present(found: Store, *names: str, index: dict[str, str] | None = None) -> list[Any]:
    releases = {name: [locks.release()] for name in names}
    node = Given({WheelStore: found}, "pve1")
    return run(wheels.present, node, releases=releases, pip=locks.PIP, index=index)


def test_a_full_store_fetches_nothing_for_one_container_or_another() -> None:
    assert present(Store(FULL, ROOM), "gpu-a", "gpu-b") == []


def test_pip_is_brought_and_run_out_of_its_wheel() -> None:
    folder, pip, fetch = present(Store({}, ROOM), "gpu-a")
    assert folder == "install -d -m 0755 /var/lib/stoker/wheels /opt/stoker/pip/25.3"
    name = "/opt/stoker/pip/25.3/pip-25.3-py3-none-any.whl"
    assert pip == ("put", "/cache/pip-25.3-py3-none-any.whl", name)
    assert 'python3 -I "$pip/pip" download ' in fetch
    assert fetch.endswith(
        f"' sh /var/lib/stoker/wheels {name} --python-version 3.11 --implementation cp --abi cp311 "
        "--platform linux_x86_64"
    )


def test_only_what_is_missing_or_cut_short_is_fetched_and_each_file_once() -> None:
    found = dict(FULL)
    del found["cuda_toolkit-13.0.2-py2.py3-none-any.whl"]
    found["torch-2.11.0-cp313-cp313-linux_x86_64.whl"] -= 1
    releases = {name: [locks.release()] for name in ("gpu-a", "gpu-b")}
    node = Given({WheelStore: Store(found, ROOM)}, "pve1")
    done = commands(wheels.present, node, releases=releases, pip=locks.PIP)[2:]
    asked = [
        [line.split()[0] for line in c.connector_arguments["_stdin"].splitlines()] for c in done
    ]
    assert asked == [["cuda-toolkit==13.0.2"], ["torch==2.11.0"]]


def test_an_index_goes_by_stdin_because_it_may_hold_a_password() -> None:
    index = {"url": "https://me:secret@wheels.example/simple", "ca_file": "/etc/ssl/site.pem"}
    releases = {"gpu-a": [locks.release()]}
    node = Given({WheelStore: Store({}, ROOM)}, "pve1")
    last = commands(wheels.present, node, releases=releases, pip=locks.PIP, index=index)[-1]
    assert "secret" not in last.get_raw_value()
    assert last.get_raw_value().endswith(" --cert /etc/ssl/site.pem")
    lines = last.connector_arguments["_stdin"].splitlines()
    assert lines[0] == "--index-url https://me:secret@wheels.example/simple"
    assert all(" --hash=sha256:" in line for line in lines[1:])


def test_too_little_room_is_said_with_the_sum_before_anything_is_done() -> None:
    assert present(Store({}, 100_000_000), "gpu-a") == [
        (
            "refused",
            "cannot fetch 3 wheels: they need 0.00 GB and 0.40 GB while fetching, "
            "/var/lib/stoker/wheels has 0.10 GB free; make 0.30 GB free on the node",
        )
    ]


def test_a_store_that_could_not_be_read_is_not_called_full() -> None:
    (refusal,) = present(Store(), "gpu-a")
    assert "wheels of pve1 was not read; see why above" in refusal[1]


def test_a_container_that_does_not_answer_does_not_keep_the_others_waiting(
    _two_containers: Run,
) -> None:
    trixie = _two_containers.hosts["gpu-b"]
    _two_containers.active_hosts.discard(trixie)
    bookworm_only = {wheel.file: wheel.size_bytes for wheel in locks.made("cp311").wheels}
    assert present(Store(bookworm_only, ROOM), "gpu-a", "gpu-b") == []
    _two_containers.hosts["gpu-a"].facts[Interpreter] = Distribution("alpine", "3.20")
    assert present(Store({}, ROOM), "gpu-a") == []


def test_portions_start_with_the_largest_and_are_what_an_interruption_can_lose() -> None:
    sizes = {"a": 10, "b": 530_604_548, "c": 300_000_000, "d": 90_000_000}
    made = [
        Wheel(name, "1", "f" * 64, f"{name}-1-py3-none-any.whl", n) for name, n in sizes.items()
    ]
    names = [[wheel.name for wheel in portion] for portion in store.portions(made)]
    assert names == [["b"], ["c", "d", "a"]]


def mounted(*configs: tuple[int, dict[str, MountPoint]]) -> list[Any]:
    node = Given({MountPoints: dict(configs)}, "pve1")
    return run(wheels.mounted, node, vmids=[200])


STORE = MountPoint("/var/lib/stoker/wheels", "/var/lib/stoker/wheels")
MODELS = MountPoint("/tank/models", "/models")


def test_a_container_gets_the_store_at_the_first_free_mount_point() -> None:
    value = "/var/lib/stoker/wheels,mp=/var/lib/stoker/wheels,ro=1"
    assert mounted((200, {})) == [f"pct set 200 --mp0 {value}"]
    assert mounted((200, {"mp0": MODELS, "mp2": MODELS})) == [f"pct set 200 --mp1 {value}"]


@pytest.mark.parametrize("fails", [0, 7])
def test_a_declared_protection_is_lifted_for_the_mount_alone(tmp_path: Path, fails: int) -> None:
    node = Given({MountPoints: {200: {}, 201: {}}}, "pve1")
    first, second = run(wheels.mounted, node, vmids=[200, 201], protected=[201])
    assert str(first).startswith("pct set 200 --mp0 ")
    (tmp_path / "pct").write_text(
        f'#!/bin/sh\necho "$@" >>{tmp_path}/done\ncase $3 in --mp*) exit {fails} ;; esac\n'
    )
    (tmp_path / "pct").chmod(0o755)
    ended = subprocess.run(
        ["sh", "-c", str(second)], env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=False
    )
    assert ended.returncode == fails
    assert (tmp_path / "done").read_text().splitlines() == [
        "set 201 --protection 0",
        f"set 201 --mp0 {STORE.source},mp={STORE.target},ro=1",
        "set 201 --protection 1",
    ]


def test_a_container_that_has_the_store_or_does_not_exist_is_left_alone() -> None:
    assert mounted((200, {"mp0": MODELS, "mp7": STORE})) == []
    assert mounted() == []


def test_somebody_elses_mount_at_our_path_is_named_and_not_touched() -> None:
    foreign = MountPoint("local-lvm:vm-200-disk-1", "/var/lib/stoker/wheels")
    assert mounted((200, {"mp3": foreign})) == [
        (
            "refused",
            "cannot mount the wheel store into container 200: its mp3 mounts "
            "local-lvm:vm-200-disk-1 at /var/lib/stoker/wheels; "
            "remove that: pct set 200 --delete mp3",
        )
    ]
