"""Skips, loudly, where there is no GPU."""

from pathlib import Path

import pytest

DRIVER = Path("/proc/driver/nvidia/version")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.gpu)
            if not DRIVER.exists():
                item.add_marker(pytest.mark.skip(reason="no NVIDIA driver is loaded here"))
