"""The facts of an installation, by their real commands on real files, and on recorded output."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from stoker.facts import cuda_homes
from stoker.facts.cuda_homes import CudaHomes
from stoker.facts.interpreter import Distribution, Interpreter
from stoker.facts.mount_points import MountPoint, MountPoints
from stoker.facts.system import System, SystemState
from stoker.facts.uv import Uv
from stoker.facts.venvs import Venvs, VenvsState
from stoker.facts.wheel_store import Store, WheelStore
from stoker.refused import Refused
from stoker.serving import layout
from tests.facts.asked import asked


@pytest.fixture(autouse=True)
def _paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WHEELS", "VENVS", "UNITS", "CACHE", "OPT", "SWITCH"):
        monkeypatch.setattr(layout, name, tmp_path / name.lower())
    monkeypatch.setattr(cuda_homes, "PROFILE", str(tmp_path / "profile.sh"))


def test_a_store_tells_its_wheels_and_the_room_beside_them(tmp_path: Path) -> None:
    (tmp_path / "wheels" / ".incoming").mkdir(parents=True)
    (tmp_path / "wheels" / "torch-2-cp311-cp311-linux_x86_64.whl").write_bytes(b"12345")
    (tmp_path / "wheels" / ".incoming" / "half-1-py3-none-any.whl").write_bytes(b"1")
    found = asked(WheelStore())
    assert found.sizes == {"torch-2-cp311-cp311-linux_x86_64.whl": 5}
    assert found.free_bytes > 1_000_000


def test_where_there_is_no_store_the_room_is_that_of_where_it_would_be() -> None:
    found = asked(WheelStore())
    assert (found.sizes, found.free_bytes > 1_000_000) == ({}, True)
    assert WheelStore().default() == Store()


def test_uv_is_seen_only_where_it_can_be_run(tmp_path: Path) -> None:
    assert asked(Uv(), version="0.13.9") is None
    binary = tmp_path / "opt" / "uv" / "0.13.9" / "uv"
    binary.parent.mkdir(parents=True)
    binary.write_bytes(b"123")
    binary.chmod(0o644)
    assert asked(Uv(), version="0.13.9") is None
    binary.chmod(0o755)
    assert asked(Uv(), version="0.13.9") == 3


def test_packages_and_user_as_this_machine_has_them() -> None:
    if not shutil.which("dpkg-query"):
        pytest.skip("no dpkg on this machine")
    found = asked(System(), account="root", packages=["dpkg", "no-such-package"])
    assert (found.installed, found.home) == ({"dpkg"}, "/root")
    assert asked(System(), account="no-such-user", packages=["dpkg"]).home is None


def test_a_removed_package_whose_configuration_stayed_is_not_installed() -> None:
    printed = ["os debian 12", "package gcc installed", "package libnuma1 config-files"]
    assert System().process(printed) == SystemState(
        Distribution("debian", "12"), frozenset({"gcc"})
    )


def test_each_distribution_brings_its_own_python() -> None:
    lines = {"os debian 12": "3.11", "os debian 13": "3.13", "os ubuntu 24.04": "3.12"}
    assert {line: Interpreter().process([line]).python for line in lines} == lines  # type: ignore[union-attr]
    with pytest.raises(Refused, match=r"on alpine 3\.20: Stoker knows debian 12, debian 13"):
        _ = Distribution("alpine", "3.20").python


def test_a_host_that_says_nothing_gives_no_distribution() -> None:
    assert Interpreter().process([]) is None
    assert Venvs().process([]) == VenvsState()
    assert CudaHomes().process([]).distribution is None


def make_venvs(tmp_path: Path) -> None:
    for name, marks in {"sglang-1-a": [".complete", ".sglang"], "sglang-1-b": []}.items():
        (tmp_path / "venvs" / name).mkdir(parents=True)
        for mark in marks:
            (tmp_path / "venvs" / name / mark).touch()
    os.utime(tmp_path / "venvs" / "sglang-1-a", (5, 5))


def test_venvs_tell_their_marks_and_what_an_interruption_left(tmp_path: Path) -> None:
    make_venvs(tmp_path)
    (tmp_path / "venvs" / ".cache").mkdir()
    found = asked(Venvs())
    one, other = found.venvs
    assert (one.name, one.made, one.complete) == ("sglang-1-a", 5, True)
    assert (other.name, other.complete, other.marks) == ("sglang-1-b", False, frozenset())
    assert found.cache
    assert found.marked("sglang-1-a", ".sglang")
    assert not found.marked("sglang-1-b", ".sglang")
    assert found.free_bytes > 1_000_000


def test_a_venv_is_used_when_a_unit_names_it(tmp_path: Path) -> None:
    make_venvs(tmp_path)
    (tmp_path / "units" / "sglang@0.service.d").mkdir(parents=True)
    unit = tmp_path / "units" / "sglang@0.service.d" / "x.conf"
    unit.write_text(f'ExecStart="{tmp_path}/venvs/sglang-1-b/bin/python" -m sglang\n')
    assert asked(Venvs()).used == {"sglang-1-b"}


def test_a_venv_is_used_when_the_journal_of_a_switch_names_it(tmp_path: Path) -> None:
    make_venvs(tmp_path)
    kept = tmp_path / "switch/old/usr/local/lib/systemd/system/sglang@0.service"
    kept.parent.mkdir(parents=True)
    kept.write_text(f"ExecStart={tmp_path}/venvs/sglang-1-b/bin/python -m sglang\n")
    assert asked(Venvs()).used == {"sglang-1-b"}


def test_a_venv_is_used_when_a_process_has_a_file_of_it_mapped(tmp_path: Path) -> None:
    make_venvs(tmp_path)
    # As SGLang's children do it: another name, the distribution's interpreter, libraries mapped.
    copy = tmp_path / "venvs" / "sglang-1-b" / "sleep"
    shutil.copy(shutil.which("sleep") or "", copy)
    process = subprocess.Popen(["renamed", "60"], executable=copy)
    try:
        assert asked(Venvs()).used == {"sglang-1-b"}
    finally:
        process.kill()
        process.wait()


def test_caches_of_kernels_without_their_venv_are_orphans(tmp_path: Path) -> None:
    make_venvs(tmp_path)
    for name in ("sglang-1-a", "sglang-0-z"):
        (tmp_path / "cache" / name).mkdir(parents=True)
    assert asked(Venvs()).orphans == ("sglang-0-z",)


def test_a_cuda_tree_from_wheels_lacks_what_a_linker_looks_for(tmp_path: Path) -> None:
    home = tmp_path / "venvs/sglang-1-a/lib/python3.11/site-packages/nvidia/cu13"
    (home / "lib").mkdir(parents=True)
    for name in ("libcudart.so.13", "libcufft.so.12", "libcufft.so", "libcheckpoint.so"):
        (home / "lib" / name).touch()
    found = asked(CudaHomes()).homes[str(home)]
    assert found.lacks == {"lib64", "stub"}
    assert found.unlinked == {"libcudart.so": "libcudart.so.13"}
    assert found.proved is None


def test_a_cuda_tree_made_whole_lacks_nothing(tmp_path: Path) -> None:
    home = tmp_path / "venvs/sglang-1-a/lib/python3.11/site-packages/nvidia/cu13"
    (home / "lib" / "stubs").mkdir(parents=True)
    (home / "lib64").symlink_to("lib")
    (home / "lib" / "libcudart.so.13").touch()
    (home / "lib" / "libcudart.so").symlink_to("libcudart.so.13")
    (home / "lib" / "stubs" / "libcuda.so").touch()
    (home / ".proved").write_text("CUDA 13.0 for no GPU\n")
    (tmp_path / "profile.sh").write_text("")
    state = asked(CudaHomes())
    found = state.homes[str(home)]
    assert (found.lacks, found.unlinked, found.proved) == (set(), {}, "CUDA 13.0 for no GPU")
    assert (
        state.profile_sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


def test_a_link_whose_wheel_was_replaced_counts_as_missing(tmp_path: Path) -> None:
    home = tmp_path / "venvs/sglang-1-a/lib/python3.11/site-packages/nvidia/cu13"
    (home / "lib").mkdir(parents=True)
    (home / "lib" / "libcudart.so.14").touch()
    (home / "lib" / "libcudart.so").symlink_to("libcudart.so.13")
    found = asked(CudaHomes()).homes[str(home)]
    assert found.unlinked == {"libcudart.so": "libcudart.so.14"}


def test_models_of_gpus_are_read_whole() -> None:
    printed = ["gpu NVIDIA RTX PRO 6000 Blackwell Server Edition"] * 2
    assert (
        CudaHomes().process(printed).gpus == ("NVIDIA RTX PRO 6000 Blackwell Server Edition",) * 2
    )


# /etc/pve/lxc/200.conf of a container with a snapshot and a pending mount point.
CONFIG = """arch: amd64
dev0: /dev/nvidia0,mode=0666
mp0: local-lvm:vm-200-disk-1,mp=/data,size=8G
mp12: /tank/models,mp=/models,ro=1
rootfs: local-lvm:vm-200-disk-0,size=40G

[pve:pending]
mp1: volume=/var/lib/stoker/wheels,mp=/var/lib/stoker/wheels,ro=1

[before-update]
mp7: /old,mp=/old
rootfs: local-lvm:snap_vm-200-disk-0_before-update,size=40G
"""


def test_mount_points_are_those_that_hold_or_are_to_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "200.conf").write_text(CONFIG)
    command = MountPoints().command(vmids=[200, 201]).get_raw_value()
    words = command.replace("/etc/pve/lxc", str(tmp_path))
    printed = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=True).stdout
    assert MountPoints().process(printed.splitlines()) == {
        200: {
            "mp0": MountPoint("local-lvm:vm-200-disk-1", "/data"),
            "mp12": MountPoint("/tank/models", "/models"),
            "mp1": MountPoint("/var/lib/stoker/wheels", "/var/lib/stoker/wheels"),
        }
    }
