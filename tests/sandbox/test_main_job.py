"""The main job on real parts: a bare container to a served token, twice without a change.

The tests of this file are one story and run in the order they stand in.
"""

import json
import os
import random
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.sandbox.installed_parser import parser_differences
from tests.sandbox.site import BIN, INVENTORY, ROOT, Site, standing
from tests.sandbox.standin import Neighbour, sandbox

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with standing("test-main", tmp_path_factory.mktemp("site"), "--neighbours", "1") as found:
        yield found


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


def test_the_parser_of_0_5_12_is_what_was_recorded_of_it(site: Site) -> None:
    assert parser_differences(site) == []


def test_what_was_deployed_passes_the_checks_of_a_real_lab(site: Site) -> None:
    done = subprocess.run(
        [str(BIN / "pytest"), "-q", str(ROOT / "tests/host"), f"--inventory={INVENTORY}"],
        cwd=site.path, env=site.environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_a_newer_kernels_breaks_the_server_and_the_proof_of_it_says_how(site: Site) -> None:
    """What an unlocked install of 0.5.12 gets today; the lock is what keeps it away."""
    unit = "/usr/local/lib/systemd/system/sglang@0.service"
    python = site.node(f"pct exec 200 -- sed -n s/^Python=//p {unit}").stdout.strip()
    uv = site.node("pct exec 200 -- sh -c 'echo /opt/stoker/uv/*/uv'").stdout.strip()
    ca = "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"
    newer = f"{uv} pip install --quiet --no-deps --python {python} --target /tmp/newer"
    site.node(f"pct exec 200 -- env {ca} {newer} kernels==0.17.2")
    asked = f"env PYTHONPATH=/tmp/newer {python} -m sglang.launch_server --help"
    died = site.node(f"pct exec 200 -- {asked}", check=False)
    site.node("pct exec 200 -- rm -rf /tmp/newer")
    assert died.returncode == 1
    assert "Either a revision or a version must be specified" in died.stderr


BOTH = 'flagsets=["sandbox-tiny", "sandbox-second"]'


def test_a_second_server_comes_beside_the_first(site: Site) -> None:
    before = site.status()
    tiny = yaml.safe_load((site.path / "group_data/flagsets/sandbox-tiny.yaml").read_text())
    second = {**tiny, "name": "sandbox-second", "port": 30100}
    second["placement"] = {"layout": "one-per-gpu", "gpus": [1]}
    (site.path / "group_data/flagsets/sandbox-second.yaml").write_text(yaml.safe_dump(second))
    run = site.deploy(BOTH)
    assert run.rc == 0, run.text
    after = site.status()
    assert [row["state"] for row in after.values()] == ["serving", "serving"]
    assert after["sglang@0.service"] == before["sglang@0.service"]


KILLED_IN = [
    "Fetch the wheels",
    "Build the venvs",
    "Place what the servers' units share",
    "Bring the servers to their first token",
    "Bring the servers to their first token",
]
"""The last of them twice: in the switch, and with what the one before left of its own."""


def test_a_changed_flag_restarts_that_unit_alone_however_often_the_run_is_killed(
    site: Site,
) -> None:
    """A run that was killed at any point is simply run again."""
    seed = int(os.environ.get("STOKER_TEST_SEED", time.time()))
    print(f"STOKER_TEST_SEED={seed}")
    moments = random.Random(seed)
    tiny = yaml.safe_load((site.path / "group_data/flagsets/sandbox-tiny.yaml").read_text())
    before = site.status()
    killed = []
    for number, operation in enumerate(KILLED_IN):
        site.flag_set("sandbox-tiny", flags={**tiny["flags"], "max-running-requests": 7 - number})
        killed.append(site.deploy_and_kill_in(operation, moments.uniform(0, 2), BOTH))
    assert any(killed[3:])
    run = site.deploy(BOTH)
    assert run.rc == 0, run.text
    after = site.status()
    moved = {unit for unit in after if after[unit]["pid"] != before[unit]["pid"]}
    assert moved == {"sglang@0.service"}
    again = site.deploy(BOTH)
    assert (again.rc, again.changed) == (0, 0), again.text


def test_a_masked_unit_does_not_start(site: Site) -> None:
    unit = "sglang@1.service"
    site.node(f"pct exec 200 -- systemctl stop {unit}")
    site.node(f"pct exec 200 -- systemctl mask --runtime {unit}")
    refused = site.node(f"pct exec 200 -- systemctl start {unit}", check=False)
    assert refused.returncode != 0
    assert "masked" in refused.stderr
    site.node(f"pct exec 200 -- systemctl unmask --runtime {unit}")


def test_a_flag_set_that_is_named_no_more_takes_its_unit_away(site: Site) -> None:
    before = site.status()
    run = site.deploy()
    assert run.rc == 0, run.text
    assert site.status() == {"sglang@0.service": before["sglang@0.service"]}


def holders(site: Site) -> list[dict[str, Any]]:
    """Who of CT 200 holds a GPU, as the node sees it."""
    seen = json.loads(site.node("python3 /var/lib/stoker/stoker.pyz look --json").stdout)
    return [holder for holder in seen["holders"] if holder["owner"]["vmid"] == 200]


def test_a_unit_that_is_killed_leaves_no_holder(site: Site) -> None:
    assert holders(site)
    site.node("pct exec 200 -- systemctl mask --runtime sglang@0.service")
    site.node("pct exec 200 -- systemctl kill --kill-whom=main --signal=KILL sglang@0.service")
    until = time.monotonic() + 30
    while holders(site) and time.monotonic() < until:
        time.sleep(0.5)
    assert holders(site) == []
    site.node("pct exec 200 -- systemctl unmask --runtime sglang@0.service")


@pytest.mark.scenario("L4", "K8")
def test_orphans_of_a_server_started_by_hand_are_cleared_and_the_model_answers(
    site: Site, record_property: Callable[[str, object], None]
) -> None:
    with Neighbour(site.instance) as neighbour:
        sandbox(site.instance, "break", "orphans")
        assert {str(holder["owner"]["unit"]) for holder in holders(site)} == {""}
        dry = site.pyinfra("--dry", "recover.py")
        assert dry.rc == 0, dry.text
        assert "SIGTERM" in dry.text
        assert holders(site)
        run = site.pyinfra("recover.py")
        assert run.rc == 0, run.text
        record_property("rung", ",".join(re.findall(r"recovered by ([R\d, Z]+)", run.text)))
        assert [row["state"] for row in site.status().values()] == ["serving"]
        again = site.pyinfra("recover.py")
        assert (again.rc, again.changed) == (0, 0), again.text
    assert neighbour.asked > 0
    assert neighbour.missed == []
    sandbox(site.instance, "break", "--heal")


def reports(site: Site) -> list[dict[str, Any]]:
    """Of the deaths of the server on GPU 0, oldest first."""
    path = "/var/lib/stoker/deaths/sglang@0.service.json"
    return list(json.loads(site.node(f"pct exec 200 -- cat {path}", check=False).stdout or "[]"))


def test_a_killed_scheduler_leaves_a_report_that_knows_no_more_than_its_log(site: Site) -> None:
    """As an OOM killer does it: every process ends by KILL, which proves nothing by itself."""
    before = len(reports(site))
    site.node("pct exec 200 -- pkill -KILL -f sglang::scheduler")
    until = time.monotonic() + 60
    while len(reports(site)) == before and time.monotonic() < until:
        time.sleep(0.5)
    death = reports(site)[-1]
    assert death["verdict"]["class"] == "silent_death", death
    assert "crashed with exit code -9" in death["verdict"]["text"], death


def test_a_candidate_that_dies_while_loading_is_rolled_back_to_a_server_that_answers(
    site: Site, record_property: Callable[[str, object], None]
) -> None:
    """The flag is known, its value too; that the model has no such weights shows in the loading."""
    before = site.status()["sglang@0.service"]
    tiny = yaml.safe_load((site.path / "group_data/flagsets/sandbox-tiny.yaml").read_text())
    site.flag_set("sandbox-tiny", flags={**tiny["flags"], "quantization": "awq"})
    run = site.deploy()
    assert run.rc == 1, run.text
    assert "cannot serve sandbox-tiny by sglang@0.service" in run.text
    assert "put back: sglang@0.service answers again, as before this run" in run.text
    after = site.status()["sglang@0.service"]
    assert (after["state"], after["url"]) == ("serving", before["url"])
    took = re.search(r"answered 1 token after (\d+) s", run.text)
    assert took, run.text
    record_property("seconds until the server before answered", took[1])
    assert reports(site)[-1]["death"]["restarts"] == 0
    site.flag_set("sandbox-tiny", flags=tiny["flags"])
    again = site.deploy()
    assert (again.rc, again.changed) == (0, 0), again.text


def test_a_unit_does_not_start_onto_memory_that_is_still_held(site: Site) -> None:
    """The second crash of INC2: the guard waits, says so, and the deploy names the holder."""
    site.node("pct exec 200 -- systemctl stop sglang@0.service")
    sandbox(site.instance, "break", "host-holds")
    run = site.deploy()
    assert run.rc == 1
    assert "gpu-exporter.service" in run.text
    sandbox(site.instance, "break", "--heal")
    assert site.deploy().rc == 0
