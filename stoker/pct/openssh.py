"""A node reached by OpenSSH's own client: for testinfra and the command line."""

import contextlib
import socket
import subprocess
import tempfile
from typing import IO

from stoker.pct import bundle
from stoker.pct.client import Node


class Program:
    """A local program (ssh, or a shell for tests) as a Stream.

    It is spoken to by a socket, not by pipes: where gevent has patched the standard library, as in
    a process that uses pyinfra too, waiting on a socket lets the other greenlets go on.
    """

    def __init__(self, words: list[str]) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the stream
        self._socket, end = socket.socketpair()
        with end:
            self._process = subprocess.Popen(
                words, stdin=end.fileno(), stdout=end.fileno(), stderr=self._said
            )

    def read(self) -> bytes:
        """The next bytes of its standard output."""
        try:
            return self._socket.recv(1 << 20)
        except ConnectionResetError:  # it ended with some of our bytes unread
            return b""

    def write(self, data: bytes) -> None:
        """All of `data` to its standard input."""
        self._socket.sendall(data)

    def close(self) -> None:
        """End of its input, which ends it; killed if it does not end by itself."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._process.kill()
        self._process.wait()
        self._socket.close()

    def last_words(self) -> str:
        """The end of its standard error."""
        self._said.seek(0)
        return " ".join(self._said.read().decode("utf-8", "replace").split())[-500:]


def connect(
    host: str,
    *,
    port: int | None = None,
    user: str | None = "root",
    identity_file: str | None = None,
    config: str | None = None,
    known_hosts_file: str | None = None,
    connect_timeout_s: int = 10,
) -> Node:
    """The agent on `host`; what is None is left to ssh and its configuration."""
    words = ["ssh", "-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={connect_timeout_s}"]
    for option, value in (("-F", config), ("-p", port), ("-l", user), ("-i", identity_file)):
        words += [option, str(value)] if value is not None else []
    if known_hosts_file is not None:
        words += ["-o", f"UserKnownHostsFile={known_hosts_file}"]
    return Node(host, Program([*words, "--", host, bundle.command()]))


def local() -> Node:
    """The agent on this machine, without ssh."""
    return Node("localhost", Program(["/bin/sh", "-c", bundle.command()]))
