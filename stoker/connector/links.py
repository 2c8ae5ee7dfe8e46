"""The ssh connections to Proxmox nodes in one pyinfra run: one a node, shared by all its hosts."""

import getpass
import socket
import sys
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from paramiko import Channel, SSHException
from pyinfra.api.exceptions import ConnectError
from pyinfra.connectors.ssh import SSHConnector

from stoker.pct import bundle, errors
from stoker.pct.agent.frames import SLICE
from stoker.pct.client import Node

if TYPE_CHECKING:
    from pyinfra.api.host import Host
    from pyinfra.api.state import State


class ChannelStream:
    """A paramiko channel as a Stream."""

    def __init__(self, channel: Channel, ssh: SSHConnector) -> None:
        self._channel, self._ssh = channel, ssh

    def read(self) -> bytes:
        """The next bytes of standard output."""
        return bytes(self._channel.recv(1 << 20))

    def write(self, data: bytes) -> None:
        """All of `data`, a slice at a time: paramiko copies the rest of a slice at each packet."""
        for start in range(0, len(data), SLICE):
            self._channel.sendall(data[start : start + SLICE])

    def close(self) -> None:
        """End the channel and its connection."""
        self._channel.close()
        if self._ssh.client is not None:
            self._ssh.client.close()

    def last_words(self) -> str:
        """The end of standard error."""
        said = b""
        while self._channel.recv_stderr_ready():
            said += self._channel.recv_stderr(65536)
        return " ".join(said.decode("utf-8", "replace").split())[-500:]


class Link:
    """The way to one node: made when first needed, made again when it was lost."""

    def __init__(self, name: str, ssh: SSHConnector) -> None:
        self.name = name
        self._ssh = ssh
        self._making = threading.Lock()
        self._node: Node | None = None
        self._users: set[str] = set()

    def node(self, user: str) -> Node:
        """The agent there. `user`, a host's name, keeps it open until its `leave`.

        Raises Unreachable, NotRoot or NoPct.
        """
        with self._making:
            self._users.add(user)
            if self._node is None or not self._node.alive:
                self._node = self._connect()
            return self._node

    def leave(self, user: str) -> None:
        """`user` needs it no longer; the last one closes it."""
        with self._making:
            self._users.discard(user)
            if not self._users and self._node is not None:
                self._node.close()
                self._node = None

    def _connect(self) -> Node:
        if self._node is not None:
            self._node.close()
        try:
            self._ssh.connect()
        except ConnectError as error:
            raise errors.Unreachable(
                f"cannot reach node {self.name}: {error}; see that it is up, and its ssh_* data"
            ) from error
        assert self._ssh.client is not None
        transport = self._ssh.client.get_transport()
        assert transport is not None
        if isinstance(transport.sock, socket.socket):
            # paramiko leaves Nagle's algorithm on, which costs 40 ms a command.
            transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            channel = transport.open_session()
            channel.exec_command(bundle.command())
        except (SSHException, EOFError) as error:
            raise errors.Unreachable(
                f"cannot start the agent on node {self.name}: {error}; look at its sshd"
            ) from error
        node = Node(self.name, ChannelStream(channel, self._ssh))
        try:
            node.require()
        except errors.PctError:
            node.close()
            raise
        return node


_LINKS: "weakref.WeakKeyDictionary[State, dict[tuple[object, ...], Link]]"
_LINKS = weakref.WeakKeyDictionary()


def link(state: "State", host: "Host", name: str) -> Link:
    """The link of this run to node `name`, which is `host` itself or what it names as pct_host."""
    ssh = _ssh(state, host, name)
    key = (ssh.data["ssh_hostname"] or ssh.host.name, ssh.data["ssh_port"], ssh.data["ssh_user"])
    return _LINKS.setdefault(state, {}).setdefault(key, Link(name, ssh))


def _ssh(state: "State", host: "Host", name: str) -> SSHConnector:
    """pyinfra's own connector for the node, which knows ssh_config, keys and jump hosts."""
    for known in (name, f"@pct/{name}", f"@ssh/{name}"):
        if node := state.inventory.get_host(known, default=None):
            return SSHConnector(state, node)
    ssh = SSHConnector(state, host)
    ssh.data["ssh_hostname"] = ssh.data["ssh_hostname"] or name
    return ssh


def who() -> str:
    """Who holds a lock in this run, for those who find it held."""
    return f"{getpass.getuser()}@{socket.gethostname()} ({Path(sys.argv[0]).name})"
