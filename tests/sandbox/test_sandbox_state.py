"""The state as `up` leaves it and the inventory reads it."""

import json
import runpy
from pathlib import Path

import pytest

from stoker.refused import Refused
from stoker.sandbox import gpu, inventory, lifecycle, places, state
from stoker.sandbox.files import mounts_below, write_atomically
from stoker.sandbox.lifecycle import Size

INVENTORY = Path(__file__).parents[2] / "inventory/sandbox.py"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "ROOT", tmp_path)


def test_what_is_saved_is_loaded() -> None:
    planned = lifecycle.plan("test-x", Size(nodes=2, containers=2), "198.51.100.0/27")
    planned.save()
    assert state.load("test-x") == planned
    assert state.all_states() == [planned]


def test_an_instance_of_an_older_checkout_has_no_neighbours(tmp_path: Path) -> None:
    planned = lifecycle.plan("test-x", Size(), "198.51.100.0/27")
    planned.save()
    path = tmp_path / "test-x/state.json"
    told = json.loads(path.read_text())
    del told["neighbours"]
    path.write_text(json.dumps(told))
    assert state.load("test-x") == planned


def test_an_instance_of_an_older_checkout_is_not_bare(tmp_path: Path) -> None:
    planned = lifecycle.plan("test-x", Size(bare=True), "198.51.100.0/27")
    planned.save()
    assert state.load("test-x").bare
    assert lifecycle.size_of(state.load("test-x")) == Size(bare=True)
    path = tmp_path / "test-x/state.json"
    told = json.loads(path.read_text())
    del told["bare"]
    path.write_text(json.dumps(told))
    assert not state.load("test-x").bare


def test_a_bare_instance_says_what_its_containers_should_be() -> None:
    planned = lifecycle.plan("test-x", Size(neighbours=1, gpus=3, bare=True), "198.51.100.0/27")
    groups = inventory.of(planned)
    assert groups.pve[0][1]["proxmox"] == {
        "backend": "token",
        "host": "198.51.100.2",
        "token": "stoker@pve!deploy",
        "secret_file": str(planned.api_secret),
        "ca_file": str(planned.ca_file),
    }
    wanted = groups.inference[0][1]["container"]
    uuids = [one["uuid"] for one in gpu.initial("test-x/pve1", 3)["gpus"]]
    # The last GPU is the neighbour's.
    assert wanted["gpus"] == uuids[:2]
    assert wanted["networks"][0]["ip"] == "198.51.100.6/27"
    assert [mount["target"] for mount in wanted["mounts"]] == ["/var/lib/stoker-gpu", "/models"]
    without = lifecycle.plan("test-x", Size(gpus=0, bare=True), "198.51.100.0/27")
    plain = inventory.of(without).inference[0][1]["container"]
    assert "gpus" not in plain and len(plain["mounts"]) == 1


def test_without_an_instance_the_sentence_names_the_command() -> None:
    with pytest.raises(Refused, match=r"run `python -m stoker.sandbox up`$"):
        state.load("demo")
    with pytest.raises(Refused, match=r"up --name test-x`$"):
        state.load("test-x")


def test_the_inventory_has_nodes_by_ssh_and_containers_through_them() -> None:
    groups = inventory.of(lifecycle.plan("test-x", Size(), "198.51.100.0/27"))
    name, data = groups.pve[0]
    assert (name, data["ssh_hostname"], data["ssh_user"]) == ("@pct/pve1", "198.51.100.2", "root")
    assert data["ssh_known_hosts_file"].endswith("/test-x/known_hosts")
    assert groups.inference == [
        ("@pct/ct200", {"pct_host": "pve1", "pct_vmid": 200, "flagsets": ["sandbox-tiny"]})
    ]


def test_a_neighbour_is_in_no_inventory() -> None:
    groups = inventory.of(lifecycle.plan("test-x", Size(neighbours=1), "198.51.100.0/27"))
    assert [name for name, _data in groups.inference] == ["@pct/ct200"]


def test_the_inventory_file_has_two_groups_and_nothing_else_that_looks_like_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lifecycle.plan("test-x", Size(), "198.51.100.0/27").save()
    monkeypatch.setenv("STOKER_SANDBOX", "test-x")
    found = runpy.run_path(str(INVENTORY))
    lists = {name for name, value in found.items() if isinstance(value, list | tuple)}
    assert lists == {"pve", "inference"}


def test_the_inventory_file_ends_in_one_sentence_where_there_is_no_sandbox() -> None:
    with pytest.raises(SystemExit, match=r"^cannot use sandbox demo: .*stoker.sandbox up`$"):
        runpy.run_path(str(INVENTORY))


def test_a_file_has_its_mode_when_it_appears(tmp_path: Path) -> None:
    write_atomically(tmp_path / "new/secret", "x", 0o600)
    assert (tmp_path / "new/secret").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["secret"]


def test_mounts_in_a_directory_are_found_innermost_first() -> None:
    lines = ["1 0 8:1 / / rw", "2 1 8:1 / /d rw", "3 2 8:1 / /d/deep rw", "4 1 8:1 / /dd rw"]
    assert mounts_below(Path("/d"), "\n".join(lines)) == ["/d/deep", "/d"]


def test_a_key_of_another_user_is_refused_with_who_can_hand_it_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned = lifecycle.plan("test-x", Size(), "198.51.100.0/27")
    write_atomically(planned.ssh_key, "a key", 0o600)
    assert inventory.readable(planned) == planned
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(Refused, match=r"this user may not read .*/ssh_key; run `.* as this user"):
        inventory.readable(planned)


@pytest.fixture
def _nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle.lxc_node, "stop", lambda *_: None)
    monkeypatch.setattr(lifecycle.network, "absent", lambda *_: None)


@pytest.mark.usefixtures("_nothing_runs")
def test_a_down_that_was_killed_while_deleting_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lifecycle.plan("test-x", Size(), "198.51.100.0/27").save()
    (tmp_path / "test-x/nodes").mkdir()

    def killed(directory: Path) -> None:
        (directory / "state.json").unlink(missing_ok=True)
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            lifecycle.down("test-x")
    # An `up` now would begin anew: nothing half deleted lies in its way.
    assert not (tmp_path / "test-x").exists()
    assert state.all_states() == []
    lifecycle.down("test-x")
    assert not places.removed("test-x").exists()
    lifecycle.down("test-x")
    assert not (tmp_path / ".test-x.lock").exists()


@pytest.mark.usefixtures("_nothing_runs")
def test_what_an_older_down_left_without_a_state_is_removed(tmp_path: Path) -> None:
    (tmp_path / "test-x/nodes/pve1").mkdir(parents=True)
    lifecycle.down("test-x")
    assert not (tmp_path / "test-x").exists()


def test_a_lock_file_that_was_removed_meanwhile_is_no_lock(tmp_path: Path) -> None:
    with lifecycle._alone(".x.lock"):
        (tmp_path / ".x.lock").unlink()
        with lifecycle._alone(".x.lock"):
            assert (tmp_path / ".x.lock").exists()


def test_what_is_not_there_is_down(capsys: pytest.CaptureFixture[str]) -> None:
    lifecycle.down("test-x")
    assert capsys.readouterr().out == "  there is no sandbox test-x: nothing to remove\n"
