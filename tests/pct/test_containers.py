"""The same on a real node: LXC containers, entered as `pct exec` enters them."""

import io
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from stoker.pct import errors, openssh
from stoker.pct.client import Node
from stoker.pct.files import put_words

pytestmark = pytest.mark.sandbox


def connect(state: Any) -> Node:
    """An agent of its own on the first node."""
    first = state.nodes[0]
    return openssh.connect(
        first.address,
        port=first.ssh_port,
        identity_file=str(state.ssh_key),
        known_hosts_file=str(state.known_hosts),
    )


@pytest.fixture(scope="module")
def pve(sandbox: Any) -> Iterator[Node]:
    """An agent on the sandbox's node."""
    node = connect(sandbox)
    node.require()
    yield node
    node.close()


@pytest.fixture(scope="module")
def vmids(sandbox: Any) -> list[int]:
    """The containers of that node; each test may stop and start the last."""
    return [ct.vmid for ct in sandbox.containers if ct.node == sandbox.nodes[0].name]


def on_node(pve: Node, *words: str) -> str:
    result = pve.run(list(words))
    assert result.code == 0, result
    return result.stdout.decode()


@pytest.mark.parametrize("stdin", [None, b""], ids=["kept shell", "own process"])
def test_a_command_is_where_pct_exec_would_put_it(
    pve: Node, vmids: list[int], stdin: bytes | None
) -> None:
    text = "grep Seccomp: /proc/self/status; exec sleep 1.25"
    seen: list[bytes] = []

    def run() -> None:
        given = None if stdin is None else io.BytesIO(stdin)
        seen.append(pve.run(text, vmid=vmids[0], stdin=given).stdout)

    work = threading.Thread(target=run)
    work.start()
    time.sleep(0.6)
    pid = on_node(pve, "pgrep", "-xf", "sleep 1.25").strip()
    assert re.search(rf"/lxc/{vmids[0]}/ns/\.lxc", on_node(pve, "cat", f"/proc/{pid}/cgroup"))
    work.join()
    assert seen == [b"Seccomp:\t2\n"]


def test_its_environment_is_clean_and_it_is_root_in_roots_home(pve: Node, vmids: list[int]) -> None:
    variables = pve.run(["env"], vmid=vmids[0]).stdout.decode().splitlines()
    names = {line.partition("=")[0] for line in variables}
    assert {"PATH", "HOME", "LANG", "container"} <= names
    assert names <= {"PATH", "HOME", "LANG", "container", "TERM", "PWD"}
    assert pve.run("id -u; pwd; umask", vmid=vmids[0]).stdout.split() == [b"0", b"/root", b"0022"]


def test_words_streams_codes_and_users(pve: Node, vmids: list[int]) -> None:
    word = "a'b\"c$d`e\\f\n\x01é🔥"
    result = pve.run(["/usr/bin/printf", "%s", word], vmid=vmids[0])
    assert result.stdout == word.encode()
    result = pve.run("head -c 300000 /dev/zero; echo err >&2; exit 77", vmid=vmids[0])
    assert (result.code, result.stdout, result.stderr) == (77, bytes(300_000), b"err\n")
    as_user = "su daemon -s /bin/sh -c 'id -un > /dev/stdout; echo e > /dev/stderr'"
    result = pve.run(as_user, vmid=vmids[0])
    assert (result.stdout, result.stderr) == (b"daemon\n", b"e\n")


def test_fifty_megabytes_go_in_at_once_and_whole(pve: Node, vmids: list[int]) -> None:
    data = os.urandom(1 << 20) * 50
    began = time.monotonic()
    words = put_words("/root/large", len(data))
    assert pve.run(words, vmid=vmids[0], stdin=io.BytesIO(data)).code == 0
    assert time.monotonic() - began < 15
    assert pve.run(["cat", "/root/large"], vmid=vmids[0]).stdout == data
    pve.run(["rm", "/root/large"], vmid=vmids[0])


def test_all_containers_at_once_share_one_connection(pve: Node, vmids: list[int]) -> None:
    names: dict[int, str] = {}

    def ask(vmid: int) -> None:
        for _ in range(20):
            result = pve.run(f"echo {vmid}; cat /etc/hostname", vmid=vmid)
        names[vmid] = result.stdout.decode()

    threads = [threading.Thread(target=ask, args=(vmid,)) for vmid in vmids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {vmid: name.split()[0] for vmid, name in names.items()} == {v: str(v) for v in vmids}
    assert len({name.split()[1] for name in names.values()}) == len(vmids)


def test_absent_stopped_and_foreign_ones_are_told_apart(pve: Node, vmids: list[int]) -> None:
    with pytest.raises(errors.NoSuchContainer, match="there is no such container"):
        pve.run(["true"], vmid=999)
    on_node(
        pve, "mkdir", "-p", "/etc/pve/nodes/elsewhere/lxc", "/etc/pve/nodes/elsewhere/qemu-server"
    )
    on_node(pve, "touch", "/etc/pve/nodes/elsewhere/lxc/998.conf")
    on_node(pve, "touch", "/etc/pve/nodes/elsewhere/qemu-server/997.conf")
    with pytest.raises(errors.OnAnotherNode, match="it is on node elsewhere; set pct_host"):
        pve.run(["true"], vmid=998)
    with pytest.raises(errors.NoSuchContainer, match="it is a virtual machine"):
        pve.run(["true"], vmid=997)
    on_node(pve, "rm", "-r", "/etc/pve/nodes/elsewhere")


def test_without_the_cluster_file_system_nothing_is_entered_anew(
    pve: Node, vmids: list[int]
) -> None:
    on_node(pve, "mount", "-t", "tmpfs", "none", "/etc/pve")
    try:
        with pytest.raises(errors.ClusterFsDown, match="see systemctl status pve-cluster"):
            pve.run(["cat"], vmid=vmids[0], stdin=io.BytesIO(b""))
    finally:
        on_node(pve, "umount", "/etc/pve")


def test_a_kept_shell_does_not_hold_up_a_shutdown(pve: Node, vmids: list[int]) -> None:
    vmid = str(vmids[-1])
    pve.run(["true"], vmid=vmids[-1])
    pve.run("systemctl is-system-running --wait", vmid=vmids[-1], timeout=60)
    began = time.monotonic()
    on_node(pve, "pct", "shutdown", vmid, "--timeout", "60")
    assert time.monotonic() - began < 30
    on_node(pve, "pct", "start", vmid)


def test_a_restarted_container_is_entered_again_and_nothing_is_sent_twice(
    pve: Node, vmids: list[int]
) -> None:
    vmid = vmids[-1]
    boot = pve.run(["cat", "/proc/sys/kernel/random/boot_id"], vmid=vmid)
    pve.run(["rm", "-f", "/root/ran"], vmid=vmid)
    lost: list[BaseException] = []

    def long() -> None:
        try:
            pve.run("echo x >> /root/ran; sync; sleep 60", vmid=vmid)
        except errors.PctError as error:
            lost.append(error)

    thread = threading.Thread(target=long)
    thread.start()
    time.sleep(0.5)
    on_node(pve, "pct", "stop", str(vmid))
    thread.join(10)
    assert [type(error) for error in lost] == [errors.Lost]
    with pytest.raises(errors.Stopped, match=f"it is stopped; start it with pct start {vmid}"):
        pve.run(["true"], vmid=vmid)
    with pytest.raises(errors.Stopped):
        pve.run(["cat"], vmid=vmid, stdin=io.BytesIO(b""))
    on_node(pve, "pct", "start", str(vmid))
    assert pve.run(["cat", "/root/ran"], vmid=vmid).stdout == b"x\n"
    assert boot.code == 0


def test_a_frozen_container_is_named_as_such_and_a_short_freeze_is_waited_out(
    pve: Node, vmids: list[int]
) -> None:
    vmid = vmids[0]
    freeze = f"/sys/fs/cgroup/lxc/{vmid}/cgroup.freeze"
    pve.run(["true"], vmid=vmid)
    on_node(pve, "sh", "-c", f"echo 1 > {freeze}")
    try:
        with pytest.raises(errors.Frozen, match="it is frozen, as for a backup"):
            pve.run(["true"], vmid=vmid)
        threading.Timer(1, on_node, (pve, "sh", "-c", f"echo 0 > {freeze}")).start()
        assert pve.run(["echo", "thawed"], vmid=vmid).stdout == b"thawed\n"
    finally:
        on_node(pve, "sh", "-c", f"echo 0 > {freeze}")


def test_the_lock_names_its_holder_and_ends_with_it(
    sandbox: Any, pve: Node, vmids: list[int]
) -> None:
    other = connect(sandbox)
    other.lock(vmids[0], "alice@laptop (pyinfra)")
    other.lock(vmids[0], "alice@laptop (pyinfra)")  # her own is no obstacle
    with pytest.raises(errors.Busy, match=r"alice@laptop \(pyinfra\) works on it since 20\d\d-"):
        pve.run(["true"], vmid=vmids[0], lock="bob@desk")
    assert pve.run(["echo", "reads"], vmid=vmids[0]).stdout == b"reads\n"
    other.close()
    assert pve.run(["echo", "mine"], vmid=vmids[0], lock="bob@desk").stdout == b"mine\n"


def test_killing_the_client_frees_the_lock_and_ends_its_command(
    sandbox: Any, vmids: list[int]
) -> None:
    vmid, first = vmids[1], sandbox.nodes[0]
    program = (
        "import sys; from stoker.pct import openssh\n"
        f"node = openssh.connect({first.address!r}, identity_file={str(sandbox.ssh_key)!r}, "
        f"known_hosts_file={str(sandbox.known_hosts)!r})\n"
        f"node.run('echo on; sleep 333', vmid={vmid}, lock='killed', "
        "on_output=lambda *_: print('on', flush=True))"
    )
    client = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert client.stdout is not None
    assert client.stdout.readline() == b"on\n"
    client.kill()
    client.wait()
    second = connect(sandbox)
    result = second.run(["pgrep", "-f", "sleep 333"], vmid=vmid, lock="second")
    assert result.stdout == b""
    second.close()
