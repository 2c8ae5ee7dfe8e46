import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from stoker.recovery import watch_config
from stoker.serving import hostdata
from stoker.serving.watch import CONFIG, Watch, config_text, files_of

FULL: dict[str, Any] = {
    "every_s": 30,
    "metrics": "/srv/metrics/stoker.prom",
    "status": "/run/stoker.json",
    "ladder": {"at_most_per_day": 2, "vmids": {200: {"up_to": "R3", "units": ["sglang.service"]}}},
}


def test_the_defaults_only_look() -> None:
    assert json.loads(config_text(Watch())) == {
        "metrics": "/var/lib/prometheus/node-exporter/stoker.prom",
        "status": "/var/lib/stoker/status.json",
        "ladder": None,
    }


def test_what_the_inventory_says_is_what_the_node_reads() -> None:
    said = json.loads(config_text(Watch.model_validate(FULL)))
    wanted = {key: value for key, value in FULL.items() if key != "every_s"}
    assert said == json.loads(json.dumps(wanted))
    assert config_text(Watch.model_validate(FULL)) == config_text(Watch.model_validate(FULL))


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"evry_s": 5}, "evry_s"),
        ({"every_s": 1}, "every_s"),
        ({"metrics": "/srv/stoker.txt"}, "metrics"),
        ({"status": "status.json"}, "status"),
        ({"ladder": {"vmids": {200: {"up_to": "R7"}}}}, "ladder.vmids.200.up_to"),
        ({"ladder": {"vmids": {20: {"up_to": "R3"}}}}, "ladder.vmids.20"),
        ({"ladder": {"vmids": {}, "at_most_per_day": 99}}, "ladder.at_most_per_day"),
    ],
)
def test_every_wrong_key_and_value_is_refused(changed: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError) as error:
        Watch.model_validate({**FULL, **changed})
    (problem,) = error.value.errors()
    assert ".".join(str(part) for part in problem["loc"] if part != "[key]") == key


def test_the_inventorys_check_knows_the_keys_of_watch_and_recovery(tmp_path: Path) -> None:
    data = hostdata.HostData.model_validate({"watch": {}, "recovery": {"allow_restart": True}})
    assert data.watch == Watch()
    assert data.recovery and data.recovery.options == ("--allow-restart",)


def test_the_timer_has_the_interval_and_the_service_the_command() -> None:
    files = {file.path.name: file.text for file in files_of(Watch.model_validate(FULL))}
    assert "\nOnUnitInactiveSec=30s\n" in files["stoker-watch.timer"]
    assert (
        "\nExecStart=/usr/bin/python3 -I -S /var/lib/stoker/stoker.pyz watch "
        f"--config {CONFIG}\n" in files["stoker-watch.service"]
    )


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_has_nothing_to_say_about_the_units(tmp_path: Path) -> None:
    written = [file for file in files_of(Watch()) if file.path != CONFIG]
    for file in written:
        (tmp_path / file.path.name).write_text(file.text)
    names = [str(tmp_path / file.path.name) for file in written]
    result = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *names],
        capture_output=True,
        text=True,
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("said", [{}, FULL])
def test_the_node_can_follow_what_it_is_told(said: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "watch.json"
    path.write_text(config_text(Watch.model_validate(said)))
    config = watch_config.read(str(path))
    assert (config.ladder is None) == (not said)
    if config.ladder:
        assert config.ladder.vmids[200].up_to == "R3"
