"""An agent on this machine without containers, and the sandbox for the tests on real ones."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from stoker.pct import openssh
from stoker.pct.client import Node

CONTAINERS = 4


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """An agent whose commands run on this machine."""
    node = openssh.local()
    yield node
    node.close()


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Any]:
    """A sandbox of our own; STOKER_TEST_SANDBOX names one that stands and shall stay."""
    from stoker.sandbox import state
    from tests.sandbox.site import pct_costs_nothing

    kept = os.environ.get("STOKER_TEST_SANDBOX")
    command = [sys.executable, "-m", "stoker.sandbox"]
    if not kept:
        size = ["--name", "test-agent", "--containers", str(CONTAINERS)]
        subprocess.run([*command, "up", *size], check=True)
        pct_costs_nothing("test-agent")
    yield state.load(kept or "test-agent")
    if not kept:
        subprocess.run([*command, "down", "--name", "test-agent"], check=True)
