"""What says why a server died: placed, and what it has seen told once."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pyinfra.api import FileUploadCommand

from stoker.diagnosis import bundle
from stoker.facts.deaths import DeathReports, Deaths
from stoker.facts.files import FileState, FileStates
from stoker.operations import diagnosis
from stoker.operations.diagnosis import line, show
from tests.diagnosis.deaths import report
from tests.operations.hosts import FakeHost, here, words

PYZ = "/usr/local/lib/stoker/diagnose.pyz"
UNIT = "sglang.service"
NIGHT = 1795994637.9


@pytest.fixture(autouse=True)
def executing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "state", SimpleNamespace(is_executing=True))


def installed(there: dict[str, FileState], units: bool = True) -> tuple[list[Any], list[str]]:
    with here({FileStates: there}) as host:
        return list(diagnosis.installed._inner(units)), host.noops


def told(found: dict[str, Deaths]) -> tuple[list[Any], list[str]]:
    with here({DeathReports: found}) as host:
        return list(diagnosis.told._inner()), host.noops


def test_it_is_placed_where_it_is_missing_or_another_and_left_alone_after() -> None:
    commands, _ = installed({})
    (upload,) = (one for one in commands if isinstance(one, FileUploadCommand))
    assert upload.dest == f"{PYZ}.stoker-new"
    there = FileState(bundle.digest(), 0o755, "root:root")
    assert installed({PYZ: there}) == ([], [f"{PYZ} is of this version"])
    assert installed({PYZ: replace(there, mode=0o644)})[0]


def test_where_there_are_no_servers_nothing_is_placed() -> None:
    assert installed({}, units=False) == ([], ["there are no servers"])


def test_where_nothing_died_nothing_is_said() -> None:
    for found in ({}, {UNIT: Deaths((report(0),), report(0).invocation)}):
        assert told(found) == ([], ["no server has died since the last run"])


def test_what_died_since_is_told_once_and_remembered() -> None:
    deaths = (report(0, NIGHT), report(1, NIGHT + 100))
    (command,), _ = told({UNIT: Deaths(deaths, deaths[0].invocation)})
    host = FakeHost({})
    assert show(None, host, *command.args)
    assert host.said == [
        "sglang.service has died at 2026-11-29 23:25:37 UTC: a CUDA graph did not fit; "
        "do: lower --mem-fraction-static (stoker explain gpu_oom)"
    ]
    (seen,) = host.done
    assert seen.endswith(f"sh /var/lib/stoker/deaths {UNIT} {deaths[1].invocation}")


def test_of_several_deaths_the_first_of_the_newest_loop_is_told() -> None:
    old = report(0, 1000.0)
    loop = [report(0, NIGHT), report(1, NIGHT + 60), report(2, NIGHT + 120)]
    assert line(UNIT, [old, *loop]).startswith(
        "sglang.service has died 4 times, the first in the last loop of restarts at "
        "2026-11-29 23:23:57 UTC: "
    )


def test_of_deaths_long_apart_the_last_is_told() -> None:
    deaths = [report(0, 1000.0), report(0, NIGHT)]
    assert line(UNIT, deaths).startswith(
        "sglang.service has died 2 times, the last of them at 2026"
    )


def test_a_dry_run_tells_it_and_remembers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "state", SimpleNamespace(is_executing=False))
    with here({DeathReports: {UNIT: Deaths((report(0, NIGHT),), "")}}) as host:
        list(diagnosis.told._inner())
    assert len(host.said) == 1
    assert host.done == []


def test_a_run_that_prepares_and_then_executes_tells_it_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with here({DeathReports: {UNIT: Deaths((report(0, NIGHT),), "")}}) as host:
        for executing in (False, True):
            monkeypatch.setattr(diagnosis, "state", SimpleNamespace(is_executing=executing))
            (command,) = diagnosis.told._inner()
        assert show(None, host, *command.args)
    assert len(host.said) == 1
    assert len(host.done) == 1


def test_the_commands_are_ones_that_a_log_can_show() -> None:
    commands, _ = installed({})
    assert words(commands)[-1] == f"mv -fT -- {PYZ}.stoker-new {PYZ}"
