"""The main job on real parts: a bare container to a served token, twice without a change.

The tests of this file are one story and run in the order they stand in.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parent.parent.parent
NAME = "test-main"
INVENTORY = "inventory/sandbox.py"
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Run:
    """What one call of pyinfra came to."""

    rc: int
    text: str
    seconds: float

    @property
    def changed(self) -> int:
        """How many operations changed something, over all hosts; from pyinfra's own totals."""
        totals = re.search(r"Grand total\s*\|\s*(\d+)\s*\|\s*([\d-]+)", self.text)
        assert totals, self.text
        return int(totals[2].replace("-", "0"))


@dataclass(frozen=True)
class Site:
    """A copy of the deploy directory that a test may edit."""

    path: Path

    def words(self, *data: str) -> list[str]:
        extra = [word for item in data for word in ("--data", item)]
        return [str(BIN / "pyinfra"), "-y", *extra, "inventory/sandbox.py", "deploy.py"]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "STOKER_SANDBOX": NAME, "PATH": f"{BIN}:{os.environ['PATH']}"}

    def deploy(self, *data: str) -> Run:
        start = time.monotonic()
        done = subprocess.run(
            self.words(*data), cwd=self.path, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        return Run(done.returncode, done.stdout, time.monotonic() - start)

    def deploy_and_kill_after(self, seconds: float) -> None:
        """Start a deploy and end its whole process group the hard way."""
        with subprocess.Popen(
            self.words(), cwd=self.path, env=self.environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

    def status(self) -> dict[str, dict[str, object]]:
        """Our units as `stoker status --json` tells them, by name."""
        done = subprocess.run(
            [str(BIN / "stoker"), "status", "inventory/sandbox.py", "--json"],
            cwd=self.path, env=self.environment, text=True, capture_output=True, check=False,
        )  # fmt: skip
        return {row["unit"]: row for row in json.loads(done.stdout)}

    def flag_set(self, name: str, **changed: object) -> None:
        """Write a flag set of the site anew with some of its top-level keys changed."""
        path = self.path / "group_data" / "flagsets" / f"{name}.yaml"
        values = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump({**values, **changed}))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    sandbox = [sys.executable, "-m", "stoker.sandbox"]
    subprocess.run([*sandbox, "up", "--name", NAME], check=True)
    try:
        path = tmp_path_factory.mktemp("site")
        for name in ("inventory", "roles", "templates", "group_data", "locks"):
            shutil.copytree(ROOT / name, path / name)
        shutil.copy(ROOT / "deploy.py", path)
        yield Site(path)
    finally:
        subprocess.run([*sandbox, "down", "--name", NAME], check=True)


def test_a_bare_container_comes_to_answer_a_token(site: Site) -> None:
    run = site.deploy()
    assert run.rc == 0, run.text
    assert re.search(r"sglang\S* answered \d+ tokens? ", run.text), run.text
    assert [row["state"] for row in site.status().values()] == ["serving"]


def test_the_second_run_changes_nothing_and_leaves_the_server_alone(site: Site) -> None:
    before = site.status()
    run = site.deploy()
    assert (run.rc, run.changed) == (0, 0), run.text
    assert site.status() == before
    print(f"no-change run: {run.seconds:.1f} s")


def test_what_was_deployed_passes_the_checks_of_a_real_lab(site: Site) -> None:
    done = subprocess.run(
        [str(BIN / "pytest"), "-q", str(ROOT / "tests/host"), f"--inventory={INVENTORY}"],
        cwd=site.path, env=site.environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


BOTH = 'flagsets=["sandbox-tiny", "sandbox-second"]'


def test_one_changed_flag_restarts_exactly_that_unit(site: Site) -> None:
    tiny = yaml.safe_load((site.path / "group_data/flagsets/sandbox-tiny.yaml").read_text())
    second = {**tiny, "name": "sandbox-second", "port": 30100}
    second["placement"] = {"layout": "one-per-gpu", "gpus": [1]}
    path = site.path / "group_data/flagsets/sandbox-second.yaml"
    path.write_text(yaml.safe_dump(second))
    run = site.deploy(BOTH)
    assert run.rc == 0, run.text
    before = site.status()
    assert len(before) == 2

    second["flags"]["max-running-requests"] = 4
    path.write_text(yaml.safe_dump(second))
    run = site.deploy(BOTH)
    assert run.rc == 0, run.text
    after = site.status()
    moved = {unit for unit in after if after[unit]["pid"] != before[unit]["pid"]}
    assert moved == {"sglang@1.service"}


def test_a_masked_unit_does_not_start(site: Site) -> None:
    unit = "sglang@1.service"
    site.node(f"pct exec 200 -- systemctl stop {unit}")
    site.node(f"pct exec 200 -- systemctl mask --runtime {unit}")
    refused = site.node(f"pct exec 200 -- systemctl start {unit}", check=False)
    assert refused.returncode != 0
    assert "masked" in refused.stderr
    site.node(f"pct exec 200 -- systemctl unmask --runtime {unit}")


def test_a_run_killed_at_any_point_is_simply_run_again(site: Site) -> None:
    seed = int(os.environ.get("STOKER_TEST_SEED", time.time()))
    print(f"STOKER_TEST_SEED={seed}")
    moments = random.Random(seed)
    tiny = yaml.safe_load((site.path / "group_data/flagsets/sandbox-tiny.yaml").read_text())
    for number in range(3):
        site.flag_set("sandbox-tiny", env={**tiny["env"], "STOKER_ROUND": str(number)})
        site.deploy_and_kill_after(moments.uniform(1, 12))
    run = site.deploy()
    assert run.rc == 0, run.text
    again = site.deploy()
    assert (again.rc, again.changed) == (0, 0), again.text


def test_a_flag_the_server_dies_of_ends_in_its_last_lines(site: Site) -> None:
    tiny = yaml.safe_load((site.path / "group_data/flagsets/sandbox-tiny.yaml").read_text())
    site.flag_set("sandbox-tiny", flags={**tiny["flags"], "num-speculative-tokens": 16})
    run = site.deploy()
    assert run.rc == 1
    assert "unrecognized arguments: --num-speculative-tokens 16" in run.text
    site.flag_set("sandbox-tiny", flags=tiny["flags"])
    assert site.deploy().rc == 0
