"""Why a node cannot be used is said in one sentence."""

from pathlib import Path

import pytest

from stoker.pct import bundle, errors, openssh
from stoker.pct.agent import frames
from stoker.pct.client import Node
from stoker.pct.openssh import Program


def test_nobody_answers() -> None:
    with pytest.raises(errors.Unreachable, match=r"^cannot start .* node 127.0.0.1: .*refused"):
        openssh.connect("127.0.0.1", port=1, config="/dev/null")


def test_there_is_no_python() -> None:
    with pytest.raises(errors.Unreachable, match=r"not found; it needs Python 3.9"):
        Node("pve1", Program(["/bin/sh", "-c", bundle.command("/no/python3")]))


def test_the_user_is_not_root() -> None:
    words = ["setpriv", "--reuid=65534", "--clear-groups", "/bin/sh", "-c", bundle.command()]
    node = Node("pve1", Program(words))
    with pytest.raises(errors.NotRoot, match=r"its user has uid 65534; connect as root"):
        node.require()
    node.close()


@pytest.mark.skipif(Path("/usr/sbin/pct").exists(), reason="this machine is a Proxmox VE node")
def test_it_is_no_proxmox_node(node: Node) -> None:
    with pytest.raises(errors.NoPct, match=r"^cannot enter containers of localhost: .* pct_host$"):
        node.require()
    with pytest.raises(errors.ClusterFsDown, match="/etc/pve of localhost is not mounted"):
        node.run(["true"], vmid=200)


def test_what_a_login_shell_prints_is_no_harm() -> None:
    node = Node(
        "pve1", Program(["/bin/sh", "-c", f"seq 100000; printf '\\0x'; {bundle.command()}"])
    )
    assert node.run("echo on").stdout == b"on\n"
    node.close()


def test_every_module_of_the_agent_is_sent() -> None:
    folder = Path(frames.__file__).parent
    names = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert names == set(bundle.MODULES)


def test_every_error_of_the_agent_has_a_sentence() -> None:
    facts = {"at": "pve2", "because": "x", "who": "a", "since": "b", "pid": 1}
    for kind, (known, _) in errors._SENTENCES.items():
        error = errors.from_answer({"error": kind, **facts}, "pve1", 200, 5)
        assert type(error) is known
        assert str(error).startswith("cannot ")
        assert "{" not in str(error)
