"""An agent on this machine, without ssh and without containers."""

from collections.abc import Iterator

import pytest

from stoker.pct import openssh
from stoker.pct.client import Node


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """An agent whose commands run on this machine."""
    node = openssh.local()
    yield node
    node.close()
