"""docs/container.md says every key there is, and nothing else."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from stoker.container.asked import Driver, NodeSettings
from stoker.container.mounts import Mount
from stoker.container.network import Network
from stoker.container.wanted import Features, Startup, Wanted
from stoker.proxmox.access import Access

PAGE = Path(__file__).parents[2] / "docs" / "container.md"


def said() -> dict[str, Any]:
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
    assert keys(said()[name]) == set(model.model_fields)


@pytest.mark.parametrize(
    ("name", "model"),
    [("startup", Startup), ("features", Features), ("networks", Network), ("mounts", Mount)],
)
def test_so_has_each_part_of_a_container(name: str, model: type[BaseModel]) -> None:
    part = said()["container"][name]
    assert keys(*(part if isinstance(part, list) else [part])) == set(model.model_fields)


def test_what_it_says_is_sound() -> None:
    there = said()
    Wanted.of(there["container"]).require_creatable()
    Access.of(there["proxmox"])
    Driver.model_validate(there["driver"])
    NodeSettings.model_validate(there["node_settings"])


def test_what_it_says_is_the_default_where_it_tells_one() -> None:
    there = said()
    assert Driver.model_validate(there["driver"]) == Driver()
    assert NodeSettings.model_validate(there["node_settings"]) == NodeSettings()
    default, told = Wanted(), Wanted.of(there["container"])
    for key in ("gpus_shared", "device_mode", "device_gid", "capabilities", "migrate_raw"):
        assert getattr(told, key) == getattr(default, key)
    for key in ("started", "allow_restart", "snapshot", "snapshots_kept", "stop_timeout_s"):
        assert getattr(told, key) == getattr(default, key)
