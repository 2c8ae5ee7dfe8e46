import argparse
import json
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from stoker.health.seen import Seen, Stuck
from stoker.recovery import watch as command
from stoker.recovery import watch_config
from stoker.recovery.calling import Told
from stoker.recovery.past_runs import DAY, PastRuns
from stoker.recovery.watch_config import Config, Ladder, Limit
from stoker.recovery.watching import Climb, watch
from tests.health.looks import NOW, container, gpu, holder, look

STUCK = Told(0, True, ("would stop sglang.service",))
CLEAN = Told(0, False, ("container 200 is clean",))
FREED = Told(0, True, ("container 200 serves again",))


@dataclass
class Recovery:
    """Answers as `recover` does: first the plan, then the run; keeps what it was asked."""

    plan: Told = STUCK
    end: Told = FREED
    asked: list[list[str]] = field(default_factory=list)

    def __call__(self, vmid: int, options: Sequence[str]) -> Told:
        self.asked.append([str(vmid), *options])
        return self.plan if "--dry-run" in options else self.end

    @property
    def runs(self) -> list[list[str]]:
        return [words for words in self.asked if "--dry-run" not in words]


@dataclass
class Site:
    """A folder with the files of a watch."""

    folder: Path
    up_to: str = "R3"
    units: tuple[str, ...] = ()
    most: int = 3

    @property
    def config(self) -> Config:
        ladder = Ladder({200: Limit(self.up_to, self.units)}, self.most)
        return Config(str(self.folder / "s.prom"), str(self.folder / "run" / "status.json"), ladder)

    @property
    def past(self) -> PastRuns:
        return PastRuns(str(self.folder / "watch.json"))

    def watch(self, recovery: Recovery, seen: Seen | None = None, looks_only: bool = False) -> Any:
        config = replace(self.config, ladder=None) if looks_only else self.config
        return watch(config, lambda: seen or look(), recovery, self.past)

    @property
    def status(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(Path(self.config.status).read_text())
        return read

    @property
    def metrics(self) -> str:
        return Path(self.config.metrics).read_text()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_look_is_written_for_everybody_to_read(site: Site) -> None:
    before = os.umask(0o077)
    try:
        assert site.watch(Recovery(), look(holders=()), looks_only=True) == ()
    finally:
        os.umask(before)
    for path in (site.config.metrics, site.config.status):
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o644
    assert "stoker_gpu_stuck_bytes" in site.metrics
    assert site.status["stuck"] == [{"uuid": "GPU-0", "mib": 91522, "pids": []}]
    assert site.status["gpus"][0]["used_mib"] == 91780
    assert "nobody holds it" in site.status["remarks"][0]
    assert sorted(path.name for path in site.folder.iterdir()) == ["run", "s.prom"]


def test_a_watch_that_only_looks_asks_no_ladder(site: Site) -> None:
    recovery = Recovery()
    site.watch(recovery, look(holders=()), looks_only=True)
    assert recovery.asked == []


def test_where_nothing_is_held_the_ladder_is_not_asked(site: Site) -> None:
    recovery = Recovery()
    idle = look(gpus=(gpu(0), gpu(1)), holders=())
    assert site.watch(recovery, idle) == ()
    assert site.watch(recovery, look(containers=(container(201, 0),))) == ()
    assert recovery.asked == []


def test_a_clean_container_is_asked_for_its_plan_and_left_alone(site: Site) -> None:
    recovery = Recovery(plan=CLEAN)
    (climb,) = site.watch(recovery)
    assert climb == Climb(200, 0, False, 0, "container 200 is clean")
    assert recovery.asked == [["200", "--dry-run"]]


def test_a_refused_plan_is_told_and_not_run(site: Site) -> None:
    recovery = Recovery(plan=Told(10, False, ("GPU-0 is held by CT 201",)))
    site.watch(recovery)
    assert recovery.runs == []
    assert site.status["ladder"][0]["text"] == "GPU-0 is held by CT 201"
    assert 'stoker_ladder_code{vmid="200"} 10' in site.metrics


def test_a_stuck_container_is_freed_and_looked_at_again(site: Site) -> None:
    looked = iter([look(holders=()), look()])
    recovery = Recovery()
    (climb,) = watch(site.config, lambda: next(looked), recovery, site.past)
    assert climb == Climb(200, 0, True, 1, "container 200 serves again")
    assert recovery.asked == [["200", "--dry-run"], ["200"]]
    assert site.status["stuck"] == []
    assert 'stoker_ladder_runs{vmid="200"} 1' in site.metrics


@pytest.mark.parametrize(
    ("up_to", "options"),
    [
        ("R3", []),
        ("R4", ["--allow-restart"]),
        ("R5", ["--allow-restart", "--allow-gpu-reset"]),
        ("R6", ["--allow-restart", "--allow-gpu-reset", "--allow-driver-reload"]),
    ],
)
def test_the_limit_is_what_the_ladder_is_allowed(
    site: Site, up_to: str, options: list[str]
) -> None:
    recovery = Recovery()
    limited = replace(site, up_to=up_to, units=("sglang@0.service", "x.service"))
    limited.watch(recovery)
    units = ["--unit", "sglang@0.service", "--unit", "x.service"]
    assert recovery.runs == [["200", *units, *options]]


def test_no_more_runs_than_allowed_within_a_day(site: Site) -> None:
    recovery = Recovery()
    times = [0.0, 3600.0, 7200.0, 10_800.0, DAY - 1, DAY + 1, DAY + 2]
    climbs = [site.watch(recovery, look(time=NOW + after))[0] for after in times]
    assert [climb.ran for climb in climbs] == [True, True, True, False, False, True, False]
    assert climbs[3].text == (
        "cannot free container 200 by itself: it was freed 3 times within a day, at most 3 are "
        "allowed; see why it comes back, then recover 200 by hand"
    )
    assert len(recovery.runs) == 4


def test_a_run_counts_although_the_watch_dies_in_it(site: Site) -> None:
    def dies(vmid: int, options: Sequence[str]) -> Told:
        if "--dry-run" in options:
            return STUCK
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch(site.config, look, dies, site.past)
    assert site.past.within_a_day(200, NOW) == [NOW]


def test_a_run_that_found_another_at_work_does_not_count(site: Site) -> None:
    (climb,) = site.watch(Recovery(end=Told(12, False, ("busy: deploy, since 3:00",))))
    assert (climb.ran, climb.runs, climb.text) == (False, 0, "busy: deploy, since 3:00")
    assert site.past.within_a_day(200, NOW) == []


def test_a_clock_that_went_back_gives_no_further_runs(site: Site) -> None:
    for _ in range(3):
        site.past.add(200, NOW + 5 * DAY)
    assert site.watch(Recovery())[0].ran is False


@pytest.mark.parametrize("text", ["", "[]", '{"runs": {"200": "x"}}', '{"runs": 5}', "\x00"])
def test_a_count_that_cannot_be_read_stops_the_ladder_and_not_the_look(
    site: Site, text: str
) -> None:
    Path(site.past.path).write_text(text)
    recovery = Recovery()
    (climb,) = site.watch(recovery)
    assert recovery.asked == []
    assert climb.text == (
        f"cannot count the runs of today: {site.past.path} is not what was written; delete it"
    )
    assert site.status["ladder"]


def test_a_process_that_cannot_end_is_in_both_files(site: Site) -> None:
    stuck = holder(28001, 0, stuck=Stuck("unkillable", "nvidia", "x"))
    site.watch(Recovery(plan=CLEAN), look(holders=(stuck,)))
    assert site.status["stuck"][0]["pids"] == [28001]
    assert "stoker_gpu_stuck_holders 1" in site.metrics


GOOD: dict[str, Any] = {
    "metrics": "/var/lib/prometheus/node-exporter/stoker.prom",
    "status": "/run/stoker/status.json",
    "ladder": {"vmids": {"200": {"up_to": "R4", "units": ["s.service"]}}, "at_most_per_day": 2},
}


def told(tmp_path: Path, data: Any) -> str:
    path = tmp_path / "watch.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    with pytest.raises(watch_config.Unfit) as refused:
        watch_config.read(str(path))
    return str(refused.value).replace(str(path), "FILE")


def test_a_whole_configuration_is_read(tmp_path: Path) -> None:
    path = tmp_path / "watch.json"
    path.write_text(json.dumps(GOOD))
    assert watch_config.read(str(path)) == Config(
        GOOD["metrics"], GOOD["status"], Ladder({200: Limit("R4", ("s.service",))}, 2)
    )
    path.write_text(json.dumps({**GOOD, "ladder": None}))
    assert watch_config.read(str(path)).ladder is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"metric": 1}, "metric: unknown key; known: ladder, metrics, status"),
        ({"metrics": 5}, "metrics: is 5; name a file by its whole path"),
        ({"metrics": "/a/b.txt"}, "metrics: is '/a/b.txt'; the collector reads only names in"),
        ({"status": "s.json"}, "status: is 's.json'; name a file by its whole path"),
        ({"ladder": 5}, "ladder: is 5; give keys and values"),
        ({"ladder": {}}, "ladder.at_most_per_day: is missing"),
        ({"ladder": {"vmids": {}, "at_most_per_day": 0}}, "ladder.at_most_per_day: is 0; give a"),
        ({"ladder": {"vmids": {}, "at_most_per_day": True}}, "ladder.at_most_per_day: is True"),
        ({"ladder": {"vmids": [], "at_most_per_day": 1}}, "ladder.vmids: is []; name each"),
        ({"ladder": {"vmids": {"20": {}}, "at_most_per_day": 1}}, "ladder.vmids.20: is no"),
        (
            {"ladder": {"vmids": {"200": {"up_to": "R7"}}, "at_most_per_day": 1}},
            "ladder.vmids.200.up_to: is 'R7'; give one of R3, R4, R5, R6",
        ),
        (
            {"ladder": {"vmids": {"200": {"up_to": "R3", "unit": 1}}, "at_most_per_day": 1}},
            "ladder.vmids.200.unit: unknown key; known: units, up_to",
        ),
        (
            {
                "ladder": {
                    "vmids": {"200": {"up_to": "R3", "units": ["--full"]}},
                    "at_most_per_day": 1,
                }
            },
            "ladder.vmids.200.units: '--full' is no unit's name",
        ),
    ],
)
def test_a_wrong_key_is_one_sentence(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    assert (
        told(tmp_path, {**GOOD, **change})
        .split("\n")[0]
        .startswith(f"cannot watch: FILE: {problem}")
    )


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    assert told(tmp_path, {"statis": "/x", "metrics": "y"}).count("\n") == 3


@pytest.mark.parametrize("text", ["", "nothing", "[" * 100_000, '{"status": "/a", "status": "/b"}'])
def test_what_is_no_json_is_told(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, text).startswith("cannot watch: FILE is not JSON: ")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(watch_config.Unfit, match="No such file"):
        watch_config.read(str(tmp_path / "none.json"))


def test_the_command_says_what_is_wrong_and_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    command.add_to(parser.add_subparsers())
    words = parser.parse_args(["watch", "--config", str(tmp_path / "none.json")])
    assert words.run(words) == 2
    assert capsys.readouterr().err.startswith(f"cannot watch: {tmp_path}/none.json: No such file")
