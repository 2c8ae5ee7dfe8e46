"""Containers made, changed and restarted by a deploy on a node that has none, and runs cut off.

The tests of this file are one story and run in the order they stand in.
"""

import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sandbox.site import BIN, INVENTORY, Run, Site, standing

pytestmark = pytest.mark.sandbox
INSTANCE = "test-ct"
OPERATION = "operation: Container | "
# Only what brings a container to run: what is installed in it is tested elsewhere.
DEPLOY = """\
from pyinfra import host

from roles.container import container
from roles.flagsets import flagsets
from roles.node import node
from roles.wheels import wheels

flagsets()
node()
if "inference" in host.groups:
    container()
wheels()
"""
# Each container half of the GPUs, and what a test says in more.json over its data.
HOSTS = """\
import json
from pathlib import Path

from stoker.sandbox import inventory as _inventory

_groups = _inventory.groups({instance!r})
_more = json.loads(Path("more.json").read_text())
pve, inference = _groups.pve, _groups.inference
for _n, (_name, _data) in enumerate(inference):
    _data["flagsets"] = []
    _data["container"]["gpus"] = _data["container"]["gpus"][4 * _n : 4 * _n + 4]
    _data["container"].update(_more.get(str(_data["pct_vmid"]), {{}}), **_more.get("all", {{}}))
if "proxmox" in _more:
    pve[0][1]["proxmox"] = _more["proxmox"]
"""
UNIT = """\
[Service]
ExecStart=/usr/bin/sleep infinity
ExecStop=/usr/bin/touch /var/stopped-in-order
[Install]
WantedBy=multi-user.target
"""


class Bare:
    """A site whose node has no container yet."""

    def __init__(self, site: Site) -> None:
        self.site = site
        (site.path / "containers.py").write_text(DEPLOY)
        (site.path / INVENTORY).write_text(HOSTS.format(instance=INSTANCE))
        self.said: dict[str, Any] = {"all": {"storage": "local-zfs", "memory_mib": 1024}}
        self.say()

    def say(self, **more: Any) -> None:
        """From now on the data of all containers say this too."""
        self.said["all"] |= more
        (self.site.path / "more.json").write_text(json.dumps(self.said))

    def run(self, *options: str) -> Run:
        return self.site.pyinfra(*options, "containers.py")

    def killed(self, after_s: float) -> bool:
        """A run, killed the hard way some time after it began with containers; False: it ended."""
        words = [str(BIN / "pyinfra"), "-y", INVENTORY, "containers.py"]
        with subprocess.Popen(
            words, cwd=self.site.path, env={**self.site.environment, "PYTHONUNBUFFERED": "1"},
            start_new_session=True, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert any(OPERATION in line for line in process.stdout)
            time.sleep(after_s)
            alive = process.poll() is None
            if alive:
                os.killpg(process.pid, signal.SIGKILL)
            process.stdout.read()
        return alive

    def node(self, command: str, check: bool = True) -> str:
        return self.site.node(command, check).stdout

    def config(self, vmid: int) -> dict[str, str]:
        lines = self.node(f"pct config {vmid}").splitlines()
        return dict(line.split(": ", 1) for line in lines)


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    path = tmp_path_factory.mktemp("site")
    with standing(INSTANCE, path, "--bare", "--containers", "2") as site:
        yield Bare(site)


def told(run: Run) -> list[str]:
    """What was said of containers, without the host's name."""
    here = run.text.partition(OPERATION)[2].partition("--> Starting operation")[0] or run.text
    return re.findall(r"^    \[ct\d+\] (.*)$", here, re.MULTILINE)


def test_a_dry_run_shows_what_would_be_made_and_makes_nothing(at: Bare) -> None:
    run = at.run("--dry")
    assert run.rc == 0, run.text
    assert "CT 200 (ct200) is made:" in told(run)
    assert "+ dev0: /dev/nvidia4,mode=0666" in told(run)
    assert "CT 201 would be started" in told(run)
    assert at.node("pct list") == ""


def test_both_are_made_at_once_and_see_their_gpus(at: Bare) -> None:
    run = at.run()
    assert run.rc == 0, run.text
    for vmid, first in ((200, 0), (201, 4)):
        look = f"cd /dev; stat -c %n:%F:%a nvidia{first} nvidia{first + 3} nvidiactl nvidia-uvm"
        seen = at.node(f"pct exec {vmid} -- sh -c '{look}; ls /models'").splitlines()
        assert [line.partition(":")[2] for line in seen[:4]] == ["character special file:666"] * 4
        assert "sandbox-tiny" in seen
        assert at.config(vmid)["unprivileged"] == "1"


def test_a_second_run_changes_nothing_and_says_nothing(at: Bare) -> None:
    run = at.run()
    assert (run.rc, run.changed) == (0, 0), run.text
    assert told(run) == ["No changes", "No changes"]


def test_a_change_by_hand_is_shown_and_taken_back_and_what_is_not_ours_stays(at: Bare) -> None:
    at.node("pct set 200 --memory 512 --tags 'prod;stoker' --cpuunits 50")
    dry = at.run("--dry")
    shown = ["CT 200 (ct200):", "- memory: 512", "+ memory: 1024  (plugged in while it runs)"]
    assert [line for line in told(dry) if line in shown] == shown
    assert at.config(200)["memory"] == "512"
    run = at.run()
    assert (run.rc, run.changed) == (0, 1), run.text
    config = at.config(200)
    assert (config["memory"], config["tags"], config["cpuunits"]) == ("1024", "prod;stoker", "50")


def test_one_that_somebody_stopped_is_started(at: Bare) -> None:
    at.node("pct shutdown 201 --timeout 20 --forceStop 1")
    assert at.run().rc == 0
    assert at.node("pct status 201") == "status: running\n"


def test_what_needs_a_restart_waits_and_nothing_is_stopped(at: Bare) -> None:
    at.node(
        f"cat > /run/unit <<'END'\n{UNIT}END\n"
        "pct exec 200 -- mkdir -p /usr/local/lib/systemd/system\n"
        "pct push 200 /run/unit /usr/local/lib/systemd/system/sglang@0.service\n"
        "pct exec 200 -- systemctl daemon-reload\n"
        "pct exec 200 -- systemctl enable --now sglang@0.service\n"
    )
    at.say(features={"nesting": True, "keyctl": True})
    run = at.run()
    assert run.rc == 0, run.text
    assert any("waits for its next start: features" in line for line in told(run))
    assert at.node("pct exec 200 -- systemctl is-active sglang@0") == "active\n"


def test_an_allowed_restart_stops_the_servers_and_takes_a_snapshot_first(at: Bare) -> None:
    wheels = "/var/lib/stoker/wheels"
    at.node(f"mkdir -p {wheels} && pct set 200 --mp9 {wheels},mp={wheels},ro=1")
    at.say(allow_restart=True, snapshot=True)
    dry = at.run("--dry")
    would = "CT 200 would be restarted after a snapshot, for features"
    assert would in told(dry)
    run = at.run()
    assert run.rc == 0, run.text
    assert at.config(200)["features"] == "nesting=1,keyctl=1"
    assert {"mp0", "mp1", "mp9"} <= at.config(200).keys()
    assert "stoker-2" in at.node("pct listsnapshot 200")
    assert at.node("pct exec 200 -- ls /var/stopped-in-order")
    assert at.run().changed == 0


def test_a_foreign_bind_mount_keeps_it_running_and_the_other_goes_on(at: Bare) -> None:
    at.node("mkdir -p /srv/hand && pct set 200 --mp8 /srv/hand,mp=/hand")
    at.say(features={"nesting": True, "keyctl": False})
    since = at.node("pct exec 200 -- cat /proc/1/stat").split()[21]
    run = at.run()
    assert run.rc != 0
    assert any(
        "bind mount mp8 (/srv/hand,mp=/hand), which is not declared" in line for line in told(run)
    )
    assert at.node("pct exec 200 -- cat /proc/1/stat").split()[21] == since
    assert at.config(201)["features"].endswith("keyctl=0")
    at.say(snapshot=False)
    assert at.run().rc == 0


def test_a_gpu_of_another_container_is_refused_by_its_name(at: Bare) -> None:
    at.said["201"] = {"gpus": "all", "gpus_shared": False}
    at.said["200"] = {"gpus": None}
    at.say()
    run = at.run()
    assert run.rc != 0
    assert any(
        re.search(r"cannot pass /dev/nvidia0 .* to CT 201: CT 200 \(ct200\) passes it too", line)
        for line in told(run)
    ), run.text
    del at.said["201"], at.said["200"]
    at.say()


@pytest.mark.parametrize("way", ["token", "ssh"])
def test_a_creation_that_is_cut_off_anywhere_is_healed_by_the_next_run(at: Bare, way: str) -> None:
    seed = int(os.environ.get("STOKER_TEST_SEED", random.randrange(10**6)))
    after_s = random.Random(f"{seed} {way}").uniform(0, 7)
    print(f"STOKER_TEST_SEED={seed}: by {way}, killed after {after_s:.1f} s")
    if way == "ssh":
        at.said["proxmox"] = {"backend": "ssh"}
        at.say()
    at.node("pct destroy 201 --force 1")
    at.killed(after_s)
    run = at.run()
    assert run.rc == 0, run.text
    assert at.node("pct status 201") == "status: running\n"
    assert at.run().changed == 0
