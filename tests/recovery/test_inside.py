"""What is said of a container that cannot be asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from stoker.recovery import inside
from stoker.recovery.inside import Unreachable
from stoker.recovery.machine import Machine

NOBODY = 999_999_999


def test_a_container_that_cannot_be_entered_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as told:
        inside.units(Machine(cgroup=str(tmp_path)), NOBODY, (), ())
    assert "\n" not in str(told.value)
    assert "list-units" not in str(told.value)
