"""Ports that somebody else has, and addresses that nobody has."""

from __future__ import annotations

import socket

from tests.health.crash.provoke.scenario import Scenario, tiny
from tests.health.crash.provoke.server import Server

_HELD: list[socket.socket] = []


def _taken(port: int) -> None:
    tiny()
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("0.0.0.0", port))
    listening.listen()
    _HELD.append(listening)


def _http() -> None:
    """Another process listens on port 30000."""
    _taken(30000)


def _ranks() -> None:
    """Another process listens on port 31000."""
    _taken(31000)


def _stopped_later(server: Server) -> object:
    """A server that cannot bind may stay; then somebody stops it."""
    server.saw(b"[Errno", 120)
    if server.over(10) is None:
        server.end()
        return "stayed, and was stopped by SIGTERM to the main process"
    return "ended by itself"


_NODES = {"--dist-init-addr": "127.0.0.1:31000", "--nnodes": "1", "--node-rank": "0"}
_DATA = {"--dp-size": "2", "--enable-dp-attention": None, "--tp-size": "2"}

ALL = {
    "port_taken": Scenario(prepare=_http, act=_stopped_later, seconds=30),
    "nccl_port_taken": Scenario(
        {"--nccl-port": "31000"}, prepare=_ranks, act=_stopped_later, seconds=30
    ),
    "dist_port_taken": Scenario(_NODES, prepare=_ranks, act=_stopped_later, seconds=30),
    "zmq_port_taken": Scenario(
        _DATA | {"--dist-init-addr": "127.0.0.1:30995"},
        prepare=_ranks,
        act=_stopped_later,
        seconds=30,
    ),
    "port_privileged": Scenario({"--port": "80"}, act=_stopped_later, seconds=30),
    "port_out_of_range": Scenario({"--port": "70000"}, act=_stopped_later, seconds=30),
    "address_not_ours": Scenario({"--host": "10.9.8.7"}, act=_stopped_later, seconds=30),
}
