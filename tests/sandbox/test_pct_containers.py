"""What the stand-in does to a real container, as it was seen on a real node."""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator

import pytest

from tests.sandbox.pct_node import COST, NodeShell

pytestmark = pytest.mark.sandbox

# A system of a shell and four commands: what is tested is not the copying of 300 MB.
TINY = """\
cd /
mkdir -p /tmp/empty/dev /tmp/empty/etc /tmp/empty/proc /tmp/empty/root /tmp/empty/sys
tar -cf /var/lib/vz/template/cache/tiny.tar bin lib lib64 \\
    usr/bin/dash usr/bin/sh usr/bin/sleep usr/bin/touch usr/bin/test usr/bin/stat \\
    usr/lib64 usr/lib/*/ld-linux* usr/lib/*/libc.so.6 usr/lib/*/libselinux.so.1 \\
    usr/lib/*/libpcre2-8.so.0* -C /tmp/empty dev etc proc root sys
"""


@pytest.fixture(scope="module")
def node(pct_node: NodeShell) -> NodeShell:
    """The node of these tests."""
    return pct_node


@pytest.fixture
def ct(node: NodeShell) -> Iterator[str]:
    """A running container whose configuration is the same again afterwards."""
    before = node.good("cat", "/etc/pve/lxc/200.conf")
    yield "200"
    node.run("pct", "unlock", "200")
    if node.good("cat", "/etc/pve/lxc/200.conf") != before:
        node.run("pct", "stop", "200")
        node.write("/etc/pve/lxc/200.conf", before)
    if "stopped" in node.good("pct", "status", "200"):
        node.good("pct", "start", "200")
    node.settled(200)


@pytest.fixture
def zero(node: NodeShell) -> str:
    """A device of the node, zeros to read, that no container has."""
    node.run("mknod", "-m", "600", "/dev/stoker-zero", "c", "1", "5")
    return "/dev/stoker-zero"


def test_words_reach_the_container_unchanged(node: NodeShell, ct: str) -> None:
    words = ["a b", "it's", '"', "*", "$HOME", "new\nline", "", "ü—✓", "-n", "--", "\\"]
    out = node.good("pct", "exec", ct, "--", "printf", "<%s>", *words)
    assert out == "".join(f"<{word}>" for word in words)


def test_both_ways_are_binary_clean(node: NodeShell, ct: str) -> None:
    data = os.urandom(2 << 20)
    answer = node.run("pct", "exec", ct, "--", "sha256sum", send=data)
    assert answer.out.split()[0] == hashlib.sha256(data).hexdigest()


def test_a_process_lies_where_its_container_can_be_read_from_the_node(
    node: NodeShell, ct: str
) -> None:
    node.shell(f"pct exec {ct} -- sh -c 'setsid sleep 987 >/dev/null 2>&1 </dev/null &'")
    found = node.shell("cat /proc/$(pgrep -x -f 'sleep 987')/cgroup; pkill -x -f 'sleep 987'").out
    assert re.search(rf"^0::/lxc/{ct}/ns/\.lxc$", found, re.MULTILINE)
    pid = node.good("lxc-info", "-n", ct, "-p", "-H").strip()
    assert node.good("cat", f"/proc/{pid}/cgroup").endswith(f"0::/lxc/{ct}/ns/init.scope\n")
    monitor = node.good("pgrep", "-x", "-f", f"/usr/bin/lxc-start -F -n {ct}").strip()
    assert node.good("cat", f"/proc/{monitor}/cgroup").endswith(f"0::/lxc.monitor/{ct}\n")
    assert node.good("cat", f"/proc/{pid}/uid_map").split() == ["0", "100000", "65536"]


def test_a_command_runs_under_the_containers_seccomp(node: NodeShell, ct: str) -> None:
    assert "Seccomp:\t2\n" in node.good("pct", "exec", ct, "--", "cat", "/proc/self/status")


def test_a_new_device_is_there_at_once_and_a_changed_one_after_a_reboot(
    node: NodeShell, ct: str, zero: str
) -> None:
    stat = ("pct", "exec", ct, "--", "stat", "-c", "%a %u %g %t:%T", zero)
    node.good("pct", "set", ct, "--dev9", f"{zero},mode=0640,uid=7,gid=44")
    assert node.good(*stat) == "640 7 44 1:5\n"
    node.good("pct", "set", ct, "--dev9", f"{zero},mode=0666")
    assert f"cur dev9: {zero},mode=0640,uid=7,gid=44\nnew dev9: {zero},mode=0666\n" in node.good(
        "pct", "pending", ct
    )
    assert f"dev9: {zero},mode=0666\n" in node.good("pct", "config", ct)
    assert f"dev9: {zero},mode=0640" in node.good("pct", "config", ct, "--current")
    assert node.good(*stat) == "640 7 44 1:5\n"
    node.good("pct", "reboot", ct)
    assert node.good(*stat) == "666 0 0 1:5\n"
    assert "new " not in node.good("pct", "pending", ct)


def test_a_device_is_what_the_node_has_at_the_start(node: NodeShell, ct: str) -> None:
    node.shell("mknod /dev/stoker-moves c 1 5")
    node.good("pct", "set", ct, "--dev9", "/dev/stoker-moves")
    node.shell("rm /dev/stoker-moves; mknod /dev/stoker-moves c 1 7")
    stat = ("pct", "exec", ct, "--", "stat", "-c", "%t:%T", "/dev/stoker-moves")
    assert node.good(*stat) == "1:5\n"
    node.good("pct", "reboot", ct)
    assert node.good(*stat) == "1:7\n"
    node.shell(f"pct stop {ct}; rm /dev/stoker-moves")
    answer = node.run("pct", "start", ct)
    assert (answer.code, answer.err) == (255, "Device /dev/stoker-moves does not exist\n")


def test_deny_write_refuses_writing_only(node: NodeShell, ct: str, zero: str) -> None:
    node.good("pct", "set", ct, "--dev9", f"{zero},mode=0666,deny-write=1")
    assert node.run("pct", "exec", ct, "--", "head", "-c", "1", zero).code == 0
    answer = node.run("pct", "exec", ct, "--", "sh", "-c", f"echo > {zero}")
    assert "Operation not permitted" in answer.err


def test_a_raw_optional_mount_of_a_missing_device_leaves_an_empty_file(
    node: NodeShell, ct: str
) -> None:
    entry = "/dev/nosuch dev/raw none bind,optional,create=file"
    node.shell(f"echo 'lxc.mount.entry: {entry}' >> /etc/pve/lxc/{ct}.conf")
    node.good("pct", "reboot", ct)
    assert node.good("pct", "exec", ct, "--", "stat", "-c", "%a %s %F", "/dev/raw") == (
        "0 0 regular empty file\n"
    )


def test_a_new_mount_point_is_there_at_once_and_read_only_if_asked(
    node: NodeShell, ct: str
) -> None:
    node.shell("mkdir -p /srv/wheels && echo wheel > /srv/wheels/file")
    node.good("pct", "set", ct, "--mp5", "/srv/wheels,mp=/srv/new/wheels,ro=1")
    assert node.good("pct", "exec", ct, "--", "cat", "/srv/new/wheels/file") == "wheel\n"
    answer = node.run("pct", "exec", ct, "--", "touch", "/srv/new/wheels/x")
    assert "Read-only file system" in answer.err
    node.good("pct", "set", ct, "--delete", "mp5")
    assert "del mp5: /srv/wheels,mp=/srv/new/wheels,ro=1\n" in node.good("pct", "pending", ct)
    node.good("pct", "reboot", ct)
    assert node.run("pct", "exec", ct, "--", "cat", "/srv/new/wheels/file").code == 1


def test_a_missing_bind_directory_fails_the_start_in_the_hook(node: NodeShell, ct: str) -> None:
    node.good("pct", "stop", ct)
    node.good("pct", "set", ct, "--mp5", "/srv/nosuch,mp=/srv/x")
    answer = node.run("pct", "start", ct)
    assert (answer.code, answer.err) == (255, f"startup for container '{ct}' failed\n")
    assert "Script exited with status 2\n" in answer.out
    assert "Failed to run lxc.hook.pre-start" in answer.out


def test_an_unknown_bridge_fails_the_start_only(node: NodeShell, ct: str) -> None:
    node.good("pct", "set", ct, "--net0", "name=eth0,bridge=nobr,ip=manual")
    node.good("pct", "stop", ct)
    answer = node.run("pct", "start", ct)
    assert (answer.code, answer.err) == (255, "bridge 'nobr' does not exist\n")


def test_a_reboot_from_inside_applies_what_was_pending(node: NodeShell, ct: str) -> None:
    node.good("pct", "set", ct, "--nameserver", "192.0.2.53")
    pid = node.good("lxc-info", "-n", ct, "-p", "-H")
    node.run("pct", "exec", ct, "--", "systemctl", "reboot")
    line = f"until lxc-info -n {ct} -p -H | grep -vqx {pid.strip()}; do sleep 0.1; done"
    assert node.shell(f'timeout 30 sh -c "{line}"').code == 0
    node.settled(200)
    assert "nameserver 192.0.2.53\n" in node.good(
        "pct", "exec", ct, "--", "cat", "/etc/resolv.conf"
    )


def test_a_shutdown_that_is_not_followed_leaves_it_running(node: NodeShell, ct: str) -> None:
    node.shell(f"pct stop {ct}; echo 'entrypoint: /bin/sleep infinity' >> /etc/pve/lxc/{ct}.conf")
    node.good("pct", "start", ct)
    answer = node.run("pct", "shutdown", ct, "--timeout", "3")
    failed = f"command 'lxc-stop -n {ct} --nokill --timeout 3' failed: exit code 1\n"
    assert (answer.code, answer.out, answer.err) == (255, failed, "container did not stop\n")
    assert node.good("pct", "status", ct) == "status: running\n"
    answer = node.run("pct", "shutdown", ct, "--timeout", "1", "--forceStop", "1")
    assert answer.code == 0
    assert node.good("pct", "status", ct) == "status: stopped\n"


def test_a_frozen_container_says_running_and_lets_nobody_in(node: NodeShell, ct: str) -> None:
    node.good("lxc-freeze", "-n", ct)
    try:
        assert node.good("pct", "status", ct) == "status: running\n"
        assert node.run("timeout", "2", "pct", "exec", ct, "--", "true").code == 124
    finally:
        node.good("lxc-unfreeze", "-n", ct)


def test_a_pushed_file_has_the_rights_asked_for_and_else_its_own(node: NodeShell, ct: str) -> None:
    stat = ("pct", "exec", ct, "--", "stat", "-c", "%a %u %g", "/root/pushed")
    push = ("pct", "push", ct, "/etc/hostname", "/root/pushed")
    node.good("pct", "exec", ct, "--", "rm", "-f", "/root/pushed")
    node.good(*push)
    assert node.good(*stat) == "644 0 0\n"
    node.good(*push, "--perms", "4755", "--user", "www-data", "--group", "1000")
    assert node.good(*stat) == "755 33 1000\n"
    node.good(*push)
    assert node.good(*stat) == "755 33 1000\n"


def test_a_failed_copy_leaves_a_wrong_file_and_exits_with_nought(node: NodeShell, ct: str) -> None:
    node.good("pct", "push", ct, "/root", "/root/was-a-directory")
    size = ("stat", "-c", "%s %F")
    assert node.good("pct", "exec", ct, "--", *size, "/root/was-a-directory") == (
        "0 regular empty file\n"
    )
    node.write("/tmp/local", "precious\n")
    assert node.run("pct", "pull", ct, "/nosuch", "/tmp/local").code == 0
    assert node.good(*size, "/tmp/local") == "0 regular empty file\n"


def test_a_link_in_the_container_leads_nowhere_on_the_node(node: NodeShell, ct: str) -> None:
    node.good("pct", "exec", ct, "--", "ln", "-sfn", "/etc/pve-marker", "/root/link")
    node.good("pct", "push", ct, "/etc/hostname", "/root/link")
    assert node.run("test", "-e", "/etc/pve-marker").code == 1
    assert node.good("pct", "exec", ct, "--", "cat", "/etc/pve-marker") == "pve1\n"


def test_under_high_availability_start_and_stop_are_only_requests(node: NodeShell, ct: str) -> None:
    node.good("ha-manager", "add", f"ct:{ct}")
    try:
        assert node.good("pct", "stop", ct) == f"Requesting HA stop for CT {ct}\n"
        _until(node, ct, "stopped")
        assert node.good("pct", "start", ct) == f"Requesting HA start for CT {ct}\n"
        _until(node, ct, "running")
        assert f"service ct:{ct} (pve1, started)\n" in node.good("ha-manager", "status")
    finally:
        node.good("ha-manager", "remove", f"ct:{ct}")


def _until(node: NodeShell, ct: str, state: str) -> None:
    line = f"until pct status {ct} | grep -q {state}; do sleep 0.2; done"
    assert node.shell(f"timeout 60 sh -c '{line}'").code == 0


def test_a_container_lives_from_create_to_destroy(node: NodeShell) -> None:
    assert node.shell(TINY).code == 0
    options = ("--rootfs", "local-zfs:4", "--entrypoint", "/bin/sleep 9999", "--start", "1")
    created = node.good("pct", "create", "300", "local:vztmpl/tiny.tar", *options)
    assert "Detected container architecture: " in created
    assert "unprivileged: 1\n" in node.good("pct", "config", "300")
    assert node.good("pct", "exec", "300", "--", "stat", "-c", "%u %F", "/root") == "0 directory\n"
    node.good("pct", "snapshot", "300", "before", "--description", "clean")
    node.good("pct", "exec", "300", "--", "touch", "/root/later")
    assert re.search(
        r"`-> before .* clean\n  `-> current ", node.good("pct", "listsnapshot", "300")
    )
    node.good("pct", "rollback", "300", "before", "--start", "1")
    assert node.run("pct", "exec", "300", "--", "test", "-e", "/root/later").code == 1
    node.good("pct", "delsnapshot", "300", "before")
    node.good("pct", "stop", "300")
    node.good("pct", "destroy", "300")
    assert node.run("ls", "/var/lib/lxc/300", "/etc/pve/lxc/300.conf").code == 2


def test_a_directory_storage_makes_no_snapshots(node: NodeShell, ct: str) -> None:
    answer = node.run("pct", "snapshot", ct, "s1")
    assert (answer.code, answer.err) == (255, "snapshot feature is not available\n")


def test_pvesh_tells_the_same_as_pct(node: NodeShell, ct: str) -> None:
    listed = json.loads(node.good("pvesh", "get", "/nodes/pve1/lxc", "--output-format", "json"))
    assert {(entry["vmid"], entry["status"]) for entry in listed} >= {(200, "running")}
    current = f"/nodes/pve1/lxc/{ct}/status/current"
    status = json.loads(node.good("pvesh", "get", current, "--output-format", "json"))
    assert status["pid"] == int(node.good("lxc-info", "-n", ct, "-p", "-H"))
    assert status["ha"] == {"managed": 0}
    config = f"/nodes/pve1/lxc/{ct}/config"
    digest = json.loads(node.good("pvesh", "get", config, "--output-format", "json"))["digest"]
    assert digest == hashlib.sha1(node.good("cat", f"/etc/pve/lxc/{ct}.conf").encode()).hexdigest()
    node.good("pct", "set", ct, "--tags", "gpu b", "--digest", digest)
    assert "tags: b;gpu\n" in node.good("pct", "config", ct)
    assert node.good("pveversion").startswith("pve-manager/9.")


def test_the_guests_own_network_is_what_the_configuration_says(node: NodeShell, ct: str) -> None:
    address = re.search(r"ip=([0-9.]+)", node.good("pct", "config", ct))
    assert address
    answer = node.shell(f"timeout 20 sh -c 'until ping -c1 -W1 {address.group(1)}; do :; done'")
    assert answer.code == 0, answer.out


def test_one_start_of_pct_costs_the_processor_what_perl_does(node: NodeShell, ct: str) -> None:
    node.good("rm", COST)
    try:
        begin = time.monotonic()
        answer = node.shell(f"bash -c 'TIMEFORMAT=\"%U %S\"; time pct exec {ct} -- true'")
        took = time.monotonic() - begin
        user, system = map(float, answer.err.split())
        assert 0.5 <= user + system <= 0.9
        assert took >= 0.5
    finally:
        node.write(COST, "0\n")


def test_guests_with_onboot_run_again_after_a_reboot_of_the_node(node: NodeShell, ct: str) -> None:
    booted = node.good("cat", "/proc/1/stat").split()[21]
    node.good("pct", "set", "201", "--onboot", "0")
    node.shell("systemd-run --quiet --on-active=1 systemctl reboot")
    deadline = time.monotonic() + 90
    while node.shell("cat /proc/1/stat | cut -d' ' -f22").out.strip() in (booted, ""):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    node.good("systemctl", "is-system-running", "--wait")
    assert node.good("pct", "status", "200") == "status: running\n"
    assert node.good("pct", "status", "201") == "status: stopped\n"
    node.good("pct", "set", "201", "--onboot", "1")
    node.good("pct", "start", "201")
    node.settled(201)
