"""The comparison with a real parser sees a difference, and none where there is none."""

import argparse
import contextlib
import io
import sys
import types

import pytest

from stoker.serving.catalogue import recorded
from tests.serving.catalogue.argparser import parser
from tests.serving.catalogue.real_parser import DUMP, actions, differences


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> str:
    """What the program prints where SGLang's parser is what we recorded of 0.5.12."""
    known = recorded.load("0.5.12")
    assert known
    actions = parser(known)._actions[1:]

    class ServerArgs:
        @staticmethod
        def add_cli_args(given: argparse.ArgumentParser) -> None:
            for action in actions:
                given._add_action(action)

    module = types.ModuleType("sglang.srt.server_args")
    vars(module)["ServerArgs"] = ServerArgs
    for name in ("sglang", "sglang.srt"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "sglang.srt.server_args", module)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(DUMP, {})
    return "a warning\n" + out.getvalue()


def test_the_same_parser_has_no_difference_but_the_names_of_its_converters(printed: str) -> None:
    known = recorded.load("0.5.12")
    assert known
    told = differences(actions(printed), known)
    assert [line for line in told if ": type is" not in line] == []


def test_another_parser_is_told_option_by_option(printed: str) -> None:
    other = recorded.load("0.5.13")
    assert other
    told = differences(actions(printed), other)
    assert "--enable-nan-detection: only one has it" in told
    assert any("choices is" in line and "and read as" in line for line in told)
