"""A node of its own for the tests of the stand-ins, reached by ssh as a real one would be."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from stoker.sandbox import state as instances
from stoker.sandbox.node.startup_cost import SETTING as COST

NAME = "test-pct"


@dataclass(frozen=True)
class Answer:
    """What a command left: exit code, and both streams apart."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class NodeShell:
    """Commands as root of the node, each over a connection of its own."""

    state: instances.State

    def run(self, *words: str, send: bytes = b"") -> Answer:
        """One command, its words unchanged, its standard input `send`."""
        return self.shell(shlex.join(words), send)

    def shell(self, line: str, send: bytes = b"") -> Answer:
        """One line for the node's login shell."""
        node = self.state.nodes[0]
        options = ["-F", "none", "-i", str(self.state.ssh_key), "-p", str(node.ssh_port)]
        shared = str(self.state.directory / "test-%C")
        for option in (
            f"UserKnownHostsFile={self.state.known_hosts}",
            "BatchMode=yes",
            "ControlMaster=auto",
            f"ControlPath={shared}",
            "ControlPersist=60",
            # A node that reboots under a command ends it; by itself ssh would wait for hours.
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
        ):
            options += ["-o", option]
        words = ["ssh", *options, f"root@{node.address}", line]
        done = subprocess.run(words, input=send, capture_output=True, timeout=180)
        out, err = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
        return Answer(done.returncode, out, err)

    def good(self, *words: str) -> str:
        """The output of a command that has to succeed."""
        answer = self.run(*words)
        assert answer.code == 0, f"{shlex.join(words)}: {answer.err}{answer.out}"
        return answer.out

    def write(self, path: str, text: str) -> None:
        """Put a text file on the node."""
        answer = self.shell(f"cat > {shlex.quote(path)}", text.encode())
        assert answer.code == 0, answer.err

    def settled(self, vmid: int) -> None:
        """Wait until systemd inside the container has finished booting."""
        line = f"until pct exec {vmid} -- systemctl is-system-running --wait; do sleep 0.2; done"
        assert self.shell(f"timeout 60 sh -c {shlex.quote(line)}").code == 0


def _sandbox(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "stoker.sandbox", *words], check=True)


@pytest.fixture(scope="session")
def pct_node() -> Iterator[NodeShell]:
    """A node with two running containers, 200 and 201; `pct` costs nothing on it."""
    _sandbox("up", "--name", NAME, "--nodes", "1", "--containers", "2", "--gpus", "1")
    try:
        shell = NodeShell(instances.load(NAME))
        shell.write(COST, "0\n")
        for vmid in (200, 201):
            shell.settled(vmid)
        yield shell
    finally:
        _sandbox("down", "--name", NAME)
