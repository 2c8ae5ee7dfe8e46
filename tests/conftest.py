"""Options of the whole suite, and the testinfra backend for containers behind a node."""

import pytest
import testinfra.backend

testinfra.backend.BACKENDS["pct"] = "stoker.testinfra.PctBackend"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--inventory", help="check the containers of this inventory (tests/host)")
