"""Which containers lose their protection for the moment of a mount."""

from typing import Any

import pytest
from pyinfra.api import Inventory

from roles import wheels


@pytest.mark.parametrize(
    ("data", "is_protected"),
    [
        ({}, False),
        ({"container_defaults": {"protection": True}}, False),
        ({"container": {}, "container_defaults": {"protection": True}}, True),
        ({"container": {"protection": True}}, True),
        ({"container": {"protection": False}}, False),
        ({"container": {"cores": 2}}, False),
    ],
)
def test_only_a_declared_protection_counts(data: dict[str, Any], is_protected: bool) -> None:
    inventory = Inventory((["@fake/gpu-a"], {"pct_vmid": 200, **data}))
    assert wheels._protection(inventory.get_host("@fake/gpu-a")) == (200, is_protected)
