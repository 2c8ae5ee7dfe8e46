"""docs/container.md says every key there is, and nothing else."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from stoker.container import configuration, difference, version
from stoker.container.asked import Driver, NodeSettings
from stoker.container.change import Effect
from stoker.container.mounts import Mount
from stoker.container.network import Network
from stoker.container.wanted import Features, Startup, Wanted
from stoker.proxmox.access import Access

PAGE = Path(__file__).parents[2] / "docs" / "container.md"


def dictionaries() -> dict[str, Any]:
    """The page's dictionaries, by name."""
    found: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(block, found)
    return found


def keys(*dictionaries: dict[str, Any]) -> set[str]:
    return {key for one in dictionaries for key in one}


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("container", Wanted),
        ("proxmox", Access),
        ("driver", Driver),
        ("node_settings", NodeSettings),
    ],
)
def test_a_dictionary_has_every_key_of_its_data(name: str, model: type[BaseModel]) -> None:
    assert keys(dictionaries()[name]) == set(model.model_fields)


@pytest.mark.parametrize(
    ("name", "model"),
    [("startup", Startup), ("features", Features), ("networks", Network), ("mounts", Mount)],
)
def test_so_has_each_part_of_a_container(name: str, model: type[BaseModel]) -> None:
    part = dictionaries()["container"][name]
    assert keys(*(part if isinstance(part, list) else [part])) == set(model.model_fields)


def test_what_it_says_is_sound() -> None:
    there = dictionaries()
    Wanted.of(there["container"]).require_creatable()
    Access.of(there["proxmox"])
    Driver.model_validate(there["driver"])
    NodeSettings.model_validate(there["node_settings"])


def test_what_it_says_is_the_default_where_it_tells_one() -> None:
    there = dictionaries()
    assert Driver.model_validate(there["driver"]) == Driver()
    assert NodeSettings.model_validate(there["node_settings"]) == NodeSettings()
    default, told = Wanted(), Wanted.of(there["container"])
    for key in ("gpus_shared", "device_mode", "device_gid", "capabilities", "migrate_raw"):
        assert getattr(told, key) == getattr(default, key)
    for key in ("started", "allow_restart", "snapshot", "snapshots_kept", "stop_timeout_s"):
        assert getattr(told, key) == getattr(default, key)


CHANGED = """
cores: 1
description: other
features: keyctl=1
hostname: other
memory: 512
nameserver: 192.0.2.1
onboot: 0
protection: 1
searchdomain: other
startup: order=9
swap: 512
unprivileged: 1
"""
BESIDE = ("rootfs_gib", "migrate_raw")
MARKS = {"now": Effect.NOW, "plugged": Effect.PLUGGED, "start": Effect.RESTART}


def test_when_a_change_takes_effect_is_what_it_says() -> None:
    line = r'^    "(\w+)": .*# (now|plugged|start)\b'
    marks = dict(re.findall(line, PAGE.read_text(), re.MULTILINE))
    # These two are in no configuration's keys.
    said = {key: MARKS[mark] for key, mark in marks.items() if key not in BESIDE}
    data = {key: value for key, value in dictionaries()["container"].items() if key in said}
    actual = configuration.parse(CHANGED)
    found = difference.between(Wanted.of(data), (), actual, version.parse("6.1.10"), running=True)
    assert {change.key: change.effect for change in found.changes} == {
        key.removesuffix("_mib"): effect for key, effect in said.items()
    }
    assert len(said) == 12
