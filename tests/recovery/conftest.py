"""The holder program, compiled once, and holders that end with their test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from . import holding


@pytest.fixture(scope="session")
def holder_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of tests/standin/holder.c."""
    return holding.compiled(tmp_path_factory.mktemp("holder"))


@pytest.fixture
def holders(holder_program: Path, tmp_path: Path) -> Iterator[holding.Holders]:
    """Starts holders; nodes lie in tmp_path."""
    with holding.in_a_folder(holder_program, tmp_path) as started:
        yield started
