"""Which machine is looked at: the stand-in only where it is one and no driver is loaded."""

import json
from pathlib import Path

import pytest

from stoker.recovery.machine import Machine


def sandbox(root: Path, **state: object) -> str:
    folder = root / "var/lib/stoker-gpu"
    folder.mkdir(parents=True)
    (folder / "state.json").write_text(json.dumps(state))
    return str(root)


def test_a_real_node_is_where_the_kernel_shows_it(tmp_path: Path) -> None:
    assert Machine.told_by(str(tmp_path)) == Machine()
    assert Machine().of_driver("/proc/devices") == "/proc/devices"


def test_the_sandboxs_driver_is_used_where_it_says_so(tmp_path: Path) -> None:
    root = sandbox(tmp_path, stand_in="these GPUs do not exist")
    machine = Machine.told_by(root)
    assert machine.stand_in
    assert machine.driver == f"{root}/var/lib/stoker-gpu/kernel"
    assert machine.proc == "/proc"


@pytest.mark.parametrize("real", ["sys/module/nvidia", "proc/driver/nvidia"])
def test_with_a_driver_loaded_no_stand_in_is_believed(tmp_path: Path, real: str) -> None:
    root = sandbox(tmp_path, stand_in="yes")
    (tmp_path / real).mkdir(parents=True)
    assert Machine.told_by(root) == Machine()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"gpus": []}', '"stand_in"'])
def test_a_state_file_that_does_not_say_so_is_no_stand_in(tmp_path: Path, text: str) -> None:
    root = sandbox(tmp_path)
    (tmp_path / "var/lib/stoker-gpu/state.json").write_text(text)
    assert Machine.told_by(root) == Machine()
