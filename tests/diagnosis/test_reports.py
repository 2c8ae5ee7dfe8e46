import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stoker.diagnosis import oom, reports
from tests.diagnosis.deaths import OOM, report


def test_a_report_is_read_as_it_was_kept_and_everybody_may_read_it(tmp_path: Path) -> None:
    path = reports.path_of("sglang@0.service", str(tmp_path))
    kept = (report(0, 1000.0, oom_kills=1, oom_counter=3), report(1, 1100.0))
    reports.keep(path, kept)
    assert reports.read(path) == kept
    assert Path(path).stat().st_mode & 0o777 == 0o644
    assert [one.name for one in tmp_path.iterdir()] == ["sglang@0.service.json"]


def test_its_keys_are_those_that_others_read(tmp_path: Path) -> None:
    path = reports.path_of("sglang.service", str(tmp_path))
    reports.keep(path, [report()])
    (one,) = json.loads(Path(path).read_text())
    assert {"time", "invocation", "death", "verdict", "oom_kills"} <= set(one)
    assert one["verdict"]["class"] == "gpu_oom"
    assert one["death"]["result"] == "exit-code"


def test_only_the_last_ten_are_kept_and_none_is_large(tmp_path: Path) -> None:
    path = reports.path_of("sglang.service", str(tmp_path))
    wordy = replace(OOM, text="x" * 10**6, details=("y" * 10**5,) * 1000)
    reports.keep(path, [report(n, 1000.0 + n, verdict=wordy) for n in range(30)])
    assert [one.death.restarts for one in reports.read(path)] == list(range(20, 30))
    assert Path(path).stat().st_size < reports.MOST_BYTES


@pytest.mark.parametrize("text", ["", "[", "[{}]", '{"a": 1}', "[1]", "[" * 10**5, "\x00"])
def test_a_file_that_makes_no_sense_is_none(text: str, tmp_path: Path) -> None:
    path = tmp_path / "sglang.service.json"
    path.write_text(text)
    assert reports.read(str(path)) == ()
    assert reports.read(str(tmp_path / "nowhere")) == ()


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("", "time", None),
        ("", "time", 1e300),
        ("", "time", float("nan")),
        ("", "oom_counter", "7"),
        ("", "invocation", 7),
        ("death", "restarts", "2"),
        ("death", "restarts", None),
        ("death", "ended", "now"),
        ("death", "unit", ["x"]),
        ("verdict", "line", "6"),
        ("verdict", "cause", None),
        ("verdict", "details", [1]),
    ],
)
def test_a_report_with_a_field_of_another_kind_is_none(part: str, field: str, value: Any) -> None:
    told = reports.as_json(report())
    (told[part] if part else told)[field] = value
    assert reports.parsed(json.dumps([told])) == ()


def test_a_pipe_in_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "sglang.service.json")
    os.mkfifo(path)
    assert reports.read(path) == ()
    reports.keep(path, [report()])
    assert reports.read(path) == (report(),)


@pytest.mark.parametrize("name", ["../sglang.service", "a/b.service", "sglang", "", "x y.service"])
def test_only_a_units_name_becomes_a_files(name: str) -> None:
    with pytest.raises(ValueError, match="no service"):
        reports.path_of(name)


@pytest.mark.parametrize(
    ("text", "count"),
    [("low 0\nhigh 0\nmax 12\noom 2\noom_kill 2\n", 2), ("oom_kill_disable 0\noom_kill 7\n", 7)],
    ids=["cgroup2", "cgroup1"],
)
def test_the_oom_killer_is_counted_by_the_kernel(text: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / "memory.events"
    path.write_text(text)
    assert oom.counter((str(tmp_path / "nowhere"), str(path))) == count
    assert oom.counter((str(tmp_path / "nowhere"),)) is None


def test_what_came_since_is_the_difference_unless_the_container_began_anew() -> None:
    assert oom.since(5, 3) == 2
    assert oom.since(1, 3) == 1
    assert oom.since(4, None) == 4
    assert oom.since(None, 3) is None
