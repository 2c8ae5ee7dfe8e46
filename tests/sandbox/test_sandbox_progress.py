"""Nobody waits for the sandbox in silence."""

import re
import threading
import time

import pytest

from stoker.sandbox import progress


def test_a_short_step_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.shown("starting node pve1"):
        pass
    assert capsys.readouterr().out == "  starting node pve1\n"


def test_a_long_step_goes_on_saying_so(capsys: pytest.CaptureFixture[str]) -> None:
    said, end = "", time.monotonic() + 20
    with progress.shown("building the node image", every_s=0.02):
        while said.count("\n") < 2 and time.monotonic() < end:
            time.sleep(0.01)
            said += capsys.readouterr().out
    assert re.match(r"  building the node image\n  building the node image: \d+ s\n", said)


def test_nothing_is_said_after_a_step_that_failed(capsys: pytest.CaptureFixture[str]) -> None:
    before = threading.active_count()
    with pytest.raises(OSError, match="no"), progress.shown("creating", every_s=0.02):
        raise OSError("no")
    assert threading.active_count() == before
