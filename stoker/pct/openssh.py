"""A node reached by OpenSSH's own client: for testinfra and the command line."""

import contextlib
import os
import subprocess
import tempfile
from typing import IO

from stoker.pct import bundle
from stoker.pct.client import Node


class Pipes:
    """The pipes of a local program (ssh, or a shell for tests) as a Stream."""

    def __init__(self, words: list[str]) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the stream
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, bufsize=0
        )

    def read(self) -> bytes:
        """The next bytes of its standard output."""
        assert self._process.stdout is not None
        return os.read(self._process.stdout.fileno(), 1 << 20)

    def write(self, data: bytes) -> None:
        """All of `data` to its standard input."""
        assert self._process.stdin is not None
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._process.stdin.fileno(), rest) :]

    def close(self) -> None:
        """End of its input, which ends it; killed if it does not end by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._process.kill()
        self._process.wait()

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
    return Node(host, Pipes([*words, "--", host, bundle.command()]))


def local() -> Node:
    """The agent on this machine, without ssh."""
    return Node("localhost", Pipes(["/bin/sh", "-c", bundle.command()]))
