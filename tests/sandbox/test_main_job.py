"""The main job on real parts: a bare container to a served token, twice without a change.

The tests of this file are one story and run in the order they stand in.
"""

import os
import random
import re
import subprocess
import time
from collections.abc import Iterator

import pytest
import yaml

from tests.sandbox.site import BIN, INVENTORY, ROOT, Site, standing

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with standing("test-main", tmp_path_factory.mktemp("site")) as found:
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


KILLED_IN = [
    "Fetch the wheels",
    "Build the venvs",
    "Define the servers' units",
    "Bring the servers to their first token",
    "Bring the servers to their first token",
]
"""The last of them twice: between the unit's new text and the restart, and in the new start."""


def test_a_run_killed_at_any_point_is_simply_run_again(site: Site) -> None:
    seed = int(os.environ.get("STOKER_TEST_SEED", time.time()))
    print(f"STOKER_TEST_SEED={seed}")
    moments = random.Random(seed)
    tiny = yaml.safe_load((site.path / "group_data/flagsets/sandbox-tiny.yaml").read_text())
    before = site.status()["sglang@0.service"]["pid"]
    killed = []
    for number, operation in enumerate(KILLED_IN):
        site.flag_set("sandbox-tiny", env={**tiny["env"], "STOKER_ROUND": str(number)})
        killed.append(site.deploy_and_kill_in(operation, moments.uniform(0, 2)))
    assert any(killed[3:])
    run = site.deploy()
    assert run.rc == 0, run.text
    assert site.status()["sglang@0.service"]["pid"] != before
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
