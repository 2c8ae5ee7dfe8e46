"""The ugly sides of a node that can be switched on, each by the files that it is made of."""

from pathlib import Path
from typing import Any

import pytest

from stoker.refused import Refused
from stoker.sandbox import __main__ as command
from stoker.sandbox import (
    driver_libraries,
    gpu,
    lifecycle,
    lxc_node,
    places,
    pve,
    stuck,
    switches,
)
from stoker.sandbox.lifecycle import Size
from stoker.sandbox.node import (
    gpu_kernel,
    gpu_modules,
    gpu_nodes,
    nvidia_driver,
    schema,
    version,
)
from stoker.sandbox.state import State


@pytest.fixture
def claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "pve-container.version"
    monkeypatch.setattr(version, "SETTING", str(path))
    return path


@pytest.mark.parametrize(
    ("number", "manager", "has", "plugs"),
    [
        ("", "9.2.11", True, True),
        ("6.1.10", "9.2.11", True, True),
        ("6.0.4", "9.2.11", True, True),
        ("6.0.3", "9.2.11", True, False),
        ("5.2.6", "8.4.14", True, False),
        ("5.0.7", "8.4.14", True, False),
        ("5.0.6", "8.4.14", False, False),
        ("4.4.6", "7.4.20", False, False),
    ],
)
def test_what_devn_can_do_follows_from_the_version(
    claimed: Path, number: str, manager: str, has: bool, plugs: bool
) -> None:
    if number:
        claimed.write_text(f"{number}\n")
    assert (version.manager(), version.has_devices(), version.plugs_devices()) == (
        manager,
        has,
        plugs,
    )
    assert (schema.find("dev0") is not None) is has
    assert ("dev0" in schema.names()) is has
    assert version.packages()["pve-container"] == (number or version.CONTAINER)


class Driver:
    """The state of a node's GPUs, and its /dev as a directory of files."""

    def __init__(self, root: Path) -> None:
        self.gpu, self.dev = root / "gpu", root / "dev"
        for directory in (self.gpu, self.dev):
            directory.mkdir()
        gpu.write(self.gpu / "state.json", gpu.initial("test/pve1", 2))

    def boots(self, **changed: Any) -> dict[str, Any]:
        state = gpu.read(self.gpu / "state.json") | changed
        gpu_nodes.boot(state)
        gpu.write(self.gpu / "state.json", state)
        return state

    def modprobe(self, *words: str) -> list[str]:
        """What lies in /dev after `nvidia-modprobe`."""
        where = str(self.gpu), "/nonexistent", str(self.dev)
        assert gpu_modules.PROGRAMS["nvidia-modprobe"](words, *where) == 0
        return sorted(path.name for path in self.dev.iterdir())


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    def made(directory: str, nodes: dict[str, list[int]]) -> None:
        for name in nodes:
            Path(directory, name).touch()

    monkeypatch.setattr(gpu_nodes, "make", made)
    monkeypatch.setattr(gpu_nodes, "miscellaneous", lambda name: [10, 63])
    return Driver(tmp_path)


def test_an_upgraded_driver_is_loaded_by_the_next_boot_alone(driver: Driver) -> None:
    state = gpu.read(driver.gpu / "state.json") | {"installed_version": gpu_kernel.NEWER}
    assert gpu_kernel.installed(state) == gpu_kernel.NEWER
    files = gpu_kernel.tree(state, [])
    assert files["modinfo"] == f"{gpu_kernel.NEWER}\n".encode()
    assert files["sys/module/nvidia/version"] == f"{gpu.DRIVER_VERSION}\n".encode()
    booted = driver.boots(installed_version=gpu_kernel.NEWER)
    assert booted["driver_version"] == gpu_kernel.NEWER
    assert "installed_version" not in booted
    assert gpu_kernel.NEWER in booted["kernel_log"][0]


def test_lazy_nodes_are_made_when_nvidia_modprobe_is_asked(driver: Driver) -> None:
    state = driver.boots(lazy_nodes=True)
    assert "nvidia_uvm" not in state["modules"]
    assert not [name for name in state["nodes"] if "uvm" in name]
    assert driver.modprobe("-c", "0") == ["nvidia0"]
    assert driver.modprobe("-c", "255") == ["nvidia0", "nvidiactl"]
    assert driver.modprobe() == ["nvidia0", "nvidia1", "nvidiactl"]
    uvm = {"nvidia-uvm", "nvidia-uvm-tools"}
    assert not uvm & set(driver.modprobe("-c", "1"))
    assert uvm <= set(driver.modprobe("-u", "-c", "0"))
    assert "nvidia_uvm" in gpu.read(driver.gpu / "state.json")["modules"]


def test_a_library_of_another_version_than_the_module_is_a_mismatch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "libnvidia-ml.so.1"
    monkeypatch.setattr(nvidia_driver, "LIBRARY", str(link))
    assert nvidia_driver.library_version() == ""
    link.symlink_to("libnvidia-ml.so.580.142.03")
    assert nvidia_driver.library_version() == "580.142.03"
    with pytest.raises(nvidia_driver.Answer) as told:
        nvidia_driver.reach(gpu.initial("test/pve1", 1), "/dev")
    assert (told.value.code, told.value.text) == (
        18,
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.142",
    )


def test_libraries_of_one_version_lie_there_with_their_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(name: str, number: str) -> Path:
        path = tmp_path / f"{name}.{number}"
        path.write_bytes(b"\x7fELF")
        return path

    monkeypatch.setattr(driver_libraries, "_built", built)
    libraries = tmp_path / "lib"
    libraries.mkdir()
    for number in ("580.126.09", "580.142"):
        driver_libraries.placed(libraries, number)
    assert sorted(path.name for path in libraries.iterdir()) == [
        *("libcuda.so", "libcuda.so.1", "libcuda.so.580.142"),
        *("libnvidia-ml.so", "libnvidia-ml.so.1", "libnvidia-ml.so.580.142"),
    ]
    assert (libraries / "libcuda.so").resolve().name == "libcuda.so.580.142"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> State:
    """An instance whose node is a directory, and which hears no command."""
    monkeypatch.setattr(places, "ROOT", tmp_path)
    monkeypatch.setattr(lxc_node, "root", lambda state, node: tmp_path / node.name)
    monkeypatch.setattr(lxc_node, "running", lambda state, node: True)
    monkeypatch.setattr(lxc_node, "attach", lambda *words, **more: "")
    monkeypatch.setattr(lxc_node, "observe", lambda state, node: None)
    monkeypatch.setattr(switches, "_libraries", lambda state, node, number: None)
    planned = lifecycle.plan("test-x", Size(nodes=2, gpus=2), "198.51.100.0/27")
    for node in planned.nodes:
        place = lxc_node.shared(planned, node)
        place.mkdir(parents=True)
        gpu.write(place / "state.json", gpu.initial(node.name, 2))
    return planned


def test_every_switch_is_on_for_each_node_and_taken_back(state: State, tmp_path: Path) -> None:
    def files() -> dict[str, str]:
        found = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"]
        return {str(path): path.read_text() for path in found}

    switches.heal(state)
    before = files()
    for name in switches.SWITCHES:
        if name == "file-for-device":
            continue
        told = switches.turn_on(state, name)
        assert told.startswith(f"{name}: ")
        changed = {path for path in {*before, *files()} if before.get(path) != files().get(path)}
        assert {node.name for node in state.nodes} <= {
            part for path in changed for part in Path(path).parts
        }, name
        switches.heal(state)
        assert files() == before, name


def test_a_file_for_a_device_needs_a_container_that_has_it(state: State) -> None:
    with pytest.raises(Refused, match=r"^cannot put a file in place of /dev/nvidia-uvm in CT 200"):
        switches.turn_on(state, "file-for-device")


def test_every_name_is_listed_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["break", "--list"]) == 0
    listed = capsys.readouterr().out.split()
    assert sorted(listed) == sorted({*stuck.SCENARIOS, *switches.SWITCHES})


def test_members_tell_of_a_cluster_only_where_there_is_one() -> None:
    alone = lifecycle.plan("test-x", Size(), "198.51.100.0/27")
    two = lifecycle.plan("test-x", Size(nodes=2), "198.51.100.0/27")
    assert '"cluster"' not in pve.members(alone, alone.nodes[0])
    assert '"quorate": 0' in pve.members(alone, alone.nodes[0], quorate=False)
    assert '"quorate": 1' in pve.members(two, two.nodes[1])
