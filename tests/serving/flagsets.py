"""Flag sets and units for tests."""

from pathlib import PurePosixPath
from typing import Any

from stoker.serving.flagset import FlagSet
from stoker.serving.placement import units_of
from stoker.serving.unit import Unit

VENV = PurePosixPath("/opt/stoker/venvs/sglang-0.5.12-0123456789ab")
CUDA = VENV / "lib/python3.11/site-packages/nvidia/cu13"


def flagset(**changed: Any) -> FlagSet:
    """A small flag set on the CPU, with these keys changed."""
    fields: dict[str, Any] = {
        "name": "tiny",
        "sglang": "0.5.12",
        "model": {"path": "/models/tiny"},
        "placement": {"layout": "cpu"},
        "port": 30000,
        "status": {"state": "reported", "by": "us", "machine": "here", "note": "none"},
    }
    return FlagSet(**{**fields, **changed})


def units(**changed: Any) -> tuple[Unit, ...]:
    """The units of `flagset(**changed)`; `secrets` goes to the units."""
    secrets = changed.pop("secrets", {})
    return units_of(flagset(**changed), VENV, CUDA, secrets=secrets)
