"""Options of the whole suite, and the testinfra backend for containers behind a node."""

from pathlib import Path

import pytest

import stoker.testinfra  # noqa: F401 - registers the backend pct://
from tests.host import hostspecs
from tests.scenarios import Board


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--inventory", help="check the containers of this inventory (tests/host)")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Board(), "scenarios")
    inventory = config.getoption("--inventory")
    if inventory and not config.option.hosts:
        config.option.hosts = ",".join(hostspecs.of(inventory))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The checks of real hosts say nothing without a host to check."""
    if "host" in collection_path.parts[-2:] and not config.option.hosts:
        return True
    return None
