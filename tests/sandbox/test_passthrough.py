"""A container's GPUs through what happens to a node: boots, reloads, upgrades, hands on its files.

The tests of this file are one story and run in the order they stand in.
"""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from stoker.sandbox import gpu, switches
from stoker.sandbox import state as states
from stoker.sandbox.node import gpu_kernel
from stoker.sandbox.node import version as claimed
from tests.sandbox.site import INVENTORY, Run, Site, standing
from tests.sandbox.standin import Room, servers

pytestmark = pytest.mark.sandbox
INSTANCE = "test-pass"
VMID, OTHER, FOREIGN = 200, 201, 250
UVM = "/dev/nvidia-uvm"
PYTHON = "/usr/bin/python3.11"
"""All that a deploy brings of it."""
UNIT = "stoker-gpu-nodes.service"
# All that has to do with GPUs; deploy.py itself is run where all of it matters.
DEPLOY = """\
from pyinfra import host

from roles.container import container
from roles.driver import driver
from roles.flagsets import flagsets
from roles.gpus import gpus
from roles.node import node
from roles.wheels import wheels

flagsets()
node()
if "inference" in host.groups:
    container()
wheels()
if "inference" in host.groups:
    driver()
    gpus()
"""
# The hosts of which more.json says something, with what it says over their data.
HOSTS = f"""\
import json
from pathlib import Path

from stoker.sandbox import inventory as _inventory

_groups = _inventory.groups({INSTANCE!r})
_more = json.loads(Path("more.json").read_text())
pve = [(_name, {{**_data, **_more["pve"]}}) for _name, _data in _groups.pve]
inference = []
for _name, _data in _groups.inference:
    if (_said := _more.get(str(_data["pct_vmid"]))) is not None:
        _data["flagsets"] = []
        _data["container"].update(_said)
        inference.append((_name, _data))
"""
OPENED = """\
for path; do
    setpriv --reuid=sglang --regid=sglang --init-groups sh -c ': <>"$0"' "$path" || exit
done
"""


class Lab:
    """A node with two GPUs, and what is declared of its containers."""

    def __init__(self, site: Site) -> None:
        self.site, self.room = site, Room(site, PYTHON)
        self.uuids = [one["uuid"] for one in gpu.initial(f"{INSTANCE}/pve1", 2)["gpus"]]
        (site.path / "passthrough.py").write_text(DEPLOY)
        (site.path / INVENTORY).write_text(HOSTS)
        self.said: dict[str, dict[str, Any]] = {"pve": {}}
        self.say(memory_mib=1024, gpus=self.uuids[:1])

    def say(self, host: int | str = VMID, **more: Any) -> None:
        """From now on the data of that host say this too."""
        self.said.setdefault(str(host), {}).update(more)
        (self.site.path / "more.json").write_text(json.dumps(self.said))

    def forget(self, host: int) -> None:
        """It is in the inventory no more."""
        del self.said[str(host)]
        self.say()

    def deploy(self, *options: str, file: str = "passthrough.py") -> Run:
        return self.site.pyinfra(*options, file)

    def unchanged(self) -> None:
        """A deploy finds nothing to do."""
        run = self.deploy()
        assert (run.rc, run.changed) == (0, 0), run.text

    def refused(self, *parts: str) -> str:
        """A deploy that fails, with all these parts in one of its lines; what it said."""
        run = self.deploy()
        assert run.rc != 0, run.text
        assert any(all(part in line for part in parts) for line in run.text.splitlines()), run.text
        return run.text

    def node(self, command: str, check: bool = True) -> str:
        return self.site.node(command, check).stdout

    def config(self) -> dict[str, str]:
        """Of our container, as Proxmox shows it."""
        return dict(line.split(": ", 1) for line in self.node(f"pct config {VMID}").splitlines())

    def runs(self) -> bool:
        return "running" in self.node(f"pct status {VMID}")

    def born(self) -> str:
        """What tells one start of the container from another."""
        return self.node(f"pid=$(lxc-info -n {VMID} -pH) && cut -d' ' -f22 /proc/$pid/stat")

    def opened(self, *gpus: int) -> None:
        """The service user opens these GPUs, with the numbers that they have on the node."""
        paths = " ".join(gpu.node_paths(list(gpus or (0,))))
        script = f"set -- {paths}\n{OPENED}stat -c '%n %t:%T' \"$@\""
        assert self.room.inside(script) == self.node(f"stat -c '%n %t:%T' {paths}")

    def number(self) -> str:
        """Major and minor of the node's nvidia-uvm; empty: it has none."""
        return self.node(f"stat -c %t:%T {UVM} 2>/dev/null", check=False).strip()

    def boots(self) -> None:
        """The node does, as its operator tells it to, and has started what it starts."""
        before = self.node("cut -d' ' -f22 /proc/1/stat")
        self.node("systemctl reboot", check=False)
        until = time.monotonic() + 60
        while self.node("cut -d' ' -f22 /proc/1/stat", check=False) in ("", before):
            assert time.monotonic() < until
            time.sleep(0.2)
        self.node("systemctl is-system-running --wait", check=False)

    def reloads(self) -> None:
        """The module nvidia_uvm is loaded anew, which deals its nodes another number."""
        before = self.number()
        self.room.inside("systemctl stop sglang@0")
        self.node("modprobe -r nvidia_uvm && modprobe nvidia_uvm")
        assert self.number() != before

    def claims(self, version: str) -> None:
        """The node has this version of pve-container."""
        self.node(f"echo {version} > {claimed.SETTING}")

    def switch(self, name: str, on: bool) -> None:
        """One of the sandbox's ugly sides of a node."""
        state = states.load(INSTANCE)
        (switches.SWITCHES[name].on if on else switches.SWITCHES[name].off)(state, state.nodes[0])


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    path = tmp_path_factory.mktemp("site")
    with standing(INSTANCE, path, "--bare", "--gpus", "2", "--containers", "2") as site:
        yield Lab(site)


def test_from_no_container_to_gpus_that_open_and_then_there_is_nothing_to_do(at: Lab) -> None:
    assert at.node("pct list") == ""
    made = at.deploy(file="deploy.py")
    assert made.rc == 0, made.text
    assert f":vzcreate:{VMID}:stoker@pve!deploy:" in at.node("ls /var/log/pve/tasks/*")
    at.opened(0)
    again = at.deploy(file="deploy.py")
    assert (again.rc, again.changed) == (0, 0), again.text


def test_a_driver_upgraded_on_the_node_alone_is_told_in_one_sentence_by_all_of_a_deploy(
    at: Lab,
) -> None:
    at.switch("driver-upgraded", True)
    run = at.deploy(file="deploy.py")
    at.switch("driver-upgraded", False)
    assert (run.rc, run.changed) == (0, 0), run.text
    loaded, installed = gpu.DRIVER_VERSION, gpu_kernel.NEWER
    told = [line for line in run.text.splitlines() if installed in line]
    assert len(told) == 1, told
    assert f"{loaded} is loaded, {installed} is installed; a reboot, or a" in told[0]


def test_a_container_rebooted_from_inside_or_from_its_node_has_its_gpus(at: Lab) -> None:
    servers(at.site, [0], PYTHON, "sglang")
    for way in (f"lxc-attach -n {VMID} --clear-env -- /sbin/reboot", f"pct reboot {VMID}"):
        before = at.born()
        at.node(way)
        until = time.monotonic() + 30
        while not at.runs() or at.born() == before:
            assert time.monotonic() < until
            time.sleep(0.2)
        at.room.until_answers(0)
        at.opened(0)
    at.unchanged()


def test_a_number_that_moved_under_a_container_is_told_and_one_that_may_is_restarted(
    at: Lab,
) -> None:
    at.reloads()
    before = at.born()
    at.refused(f"cannot use {UVM}", "the number of an earlier load of the driver", "pct reboot 200")
    assert at.born() == before
    at.say(allow_restart=True)
    run = at.deploy()
    assert (run.rc, run.changed) == (0, 1), run.text
    assert f"CT {VMID} is restarted for {UVM}" in run.text
    at.opened(0)
    at.room.until_answers(0)
    at.unchanged()


def test_after_a_boot_that_made_no_nodes_and_moved_a_number_all_serves_by_itself(at: Lab) -> None:
    at.say(allow_restart=False)
    at.switch("lazy-nodes", True)
    before = at.number()
    at.boots()
    assert at.number() not in ("", before)
    ends = at.node(f"systemctl show -P ExecMainExitTimestampMonotonic {UNIT}")
    begins = at.node("systemctl show -P ExecMainStartTimestampMonotonic pve-guests.service")
    assert 0 < int(ends) < int(begins)
    at.room.until_answers(0)
    at.opened(0)
    at.unchanged()


def test_without_the_boot_unit_it_does_not_start_and_is_told_why_and_with_it_all_is_well(
    at: Lab,
) -> None:
    at.say("pve", node_settings={"gpu_nodes": False})
    at.node(f"systemctl disable -q {UNIT} && rm /usr/local/lib/systemd/system/{UNIT}")
    at.boots()
    assert at.number() == ""
    assert not at.runs()
    at.refused("cannot pass the GPUs: the node has no ", UVM, UNIT)
    at.say("pve", node_settings={})
    run = at.deploy()
    assert run.rc == 0, run.text
    at.room.until_answers(0)
    at.boots()
    at.room.until_answers(0)
    at.opened(0)
    at.unchanged()
    at.switch("lazy-nodes", False)


def test_a_node_that_went_missing_while_it_was_down_is_made_again(at: Lab) -> None:
    at.node(f"pct shutdown {VMID} --timeout 20 --forceStop 1; rm {UVM}")
    at.node(f"pct start {VMID}", check=False)
    assert not at.runs()
    run = at.deploy()
    assert run.rc == 0, run.text
    at.opened(0)
    at.room.until_answers(0)


def test_a_file_in_place_of_a_device_is_told_and_goes_with_a_restart(at: Lab) -> None:
    at.switch("file-for-device", True)
    at.refused(f"cannot use {UVM} in CT {VMID}: a regular file is in place of the device")
    at.say(allow_restart=True)
    run = at.deploy()
    assert run.rc == 0, run.text
    at.opened(0)
    at.say(allow_restart=False)


def test_a_gpu_of_two_containers_is_refused_unless_it_is_shared(at: Lab) -> None:
    at.say(OTHER, gpus=[at.uuids[0].upper()])
    at.refused(at.uuids[0], "gpus_shared")
    at.forget(OTHER)
    at.node(
        f"printf 'arch: amd64\\nhostname: theirs\\ndev3: /dev/nvidia1\\nunprivileged: 1\\n' "
        f"> /etc/pve/lxc/{FOREIGN}.conf"
    )
    at.say(gpus=at.uuids)
    at.refused(
        f"cannot pass /dev/nvidia1 ({at.uuids[1]}) to CT {VMID}: CT {FOREIGN} (theirs), which is "
        "stopped, passes it too: dev3: /dev/nvidia1"
    )
    assert [value for value in at.config().values() if "nvidia1" in value] == []


def test_on_proxmox_9_a_further_gpu_is_plugged_into_the_container_that_runs(at: Lab) -> None:
    at.claims("6.1.10")
    before = at.born()
    at.say(gpus_shared=True)
    run = at.deploy()
    assert (run.rc, run.changed) == (0, 1), run.text
    assert at.born() == before
    at.opened(0, 1)
    at.unchanged()
    at.node(f"rm /etc/pve/lxc/{FOREIGN}.conf")


def test_on_proxmox_8_a_further_gpu_waits_for_a_restart(at: Lab) -> None:
    at.say(gpus=at.uuids[:1], gpus_shared=False, allow_restart=True)
    run = at.deploy()
    assert run.rc == 0, run.text
    at.claims("5.2.0")
    at.say(gpus=at.uuids, allow_restart=False)
    before = at.born()
    at.refused("cannot go on with CT 200: ", "/dev/nvidia1", "at its next start", "allow_restart")
    assert at.born() == before
    at.say(allow_restart=True)
    run = at.deploy()
    assert run.rc == 0, run.text
    at.opened(0, 1)
    at.room.until_answers(0)
    at.unchanged()


def raw_lines(at: Lab) -> str:
    """Those that a deploy tells to write where there is no devN."""
    at.say(OTHER, gpus=at.uuids[1:])
    no_devices = "pve-container 5.0.6 of its node has no devN"
    told = at.refused(f"cannot pass the GPUs to CT {VMID}: {no_devices}")
    assert f"cannot pass GPUs to the new CT {OTHER}: pve-container of its node is 5.0.6" in told
    at.forget(OTHER)
    lines = re.findall(r"lxc\.(?:cgroup2|mount)\..*", told)
    return "\n".join(dict.fromkeys(lines))


def test_before_devn_the_raw_lines_to_write_are_told_and_those_that_work_are_left(at: Lab) -> None:
    if at.number().startswith("a:"):
        at.reloads()  # of that major, which the kernel has given away for good, no line is doubted
    at.say(gpus=at.uuids[:1], allow_restart=False)
    at.claims("5.0.6")
    conf = f"/etc/pve/lxc/{VMID}.conf"
    at.node(f"pct shutdown {VMID} --timeout 20 --forceStop 1; sed -i /^dev/d {conf}")
    of_another_boot = "lxc.cgroup2.devices.allow: c 508:* rwm"
    at.node(f"cat >> {conf} <<'END'\n{raw_lines(at)}\n{of_another_boot}\nEND")
    run = at.deploy()
    assert run.rc == 0, run.text
    assert "with numbers that another kernel or driver may deal out anew" in run.text
    at.opened(0)
    at.unchanged()


def test_raw_lines_of_another_boot_are_told_and_migrated_when_that_is_said(at: Lab) -> None:
    at.claims("6.1.10")
    at.reloads()
    at.refused(f"its raw lines do not let it use {UVM}", "c 508:* rwm", "say migrate_raw: True")
    at.say(migrate_raw=True, allow_restart=True)
    run = at.deploy()
    assert run.rc == 0, run.text
    assert "lxc." not in at.node(f"cat /etc/pve/lxc/{VMID}.conf")
    at.opened(0)
    at.room.until_answers(0)
    at.unchanged()
