"""Stand-in: the https server of the API: one thread a connection, JSON in and out."""

from __future__ import annotations

import http.server
import json
import os
import re
import socket
import ssl
import sys
import time
from typing import Any, Dict, Optional, Tuple
from urllib.parse import unquote, unquote_plus, urlsplit

from .. import access, cluster, store
from ..died import Died
from . import authentication, peers, problem, routes
from .call import Call, checked

PREFIX = "/api2/json"
UNKNOWN_NODE = "/etc/stoker-sandbox/unknown-node-s"
# As long as a name look-up took that nobody answered (measured).
UNKNOWN_NODE_S = 10.0
Answer = Tuple[int, str, bytes]


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection, which may carry many requests."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "pve-api-daemon/3.0", ""
    timeout = 60
    # Head and body are two writes: the second must not wait for the first one's receipt.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        # Here and not in the server's own thread, which one slow client would hold up.
        if isinstance(self.request, ssl.SSLSocket):
            self.request.settimeout(self.timeout)
            self.request.do_handshake()
        super().setup()

    def log_message(self, format: str, *args: Any) -> None:
        """The journal needs no line for each request."""

    def do_GET(self) -> None:
        status, reason, body = self._answered()
        self.send_response(status, reason)
        for name, value in {
            "Cache-Control": "max-age=0",
            "Content-Type": "application/json;charset=UTF-8",
            "Pragma": "no-cache",
            "Content-Length": str(len(body)),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the library's names

    def _answered(self) -> Answer:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        try:
            return self._answer(body)
        except Died as died:
            return _failed(problem.of(died))
        except problem.Problem as found:
            return _failed(found)
        except Exception as error:
            print(f"{self.command} {self.path}: {error!r}", file=sys.stderr, flush=True)
            return _failed(problem.Problem(500, str(error)))

    def _answer(self, body: bytes) -> Answer:
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        if not path.startswith(PREFIX):
            return 404, "File not found", b""
        path = path[len(PREFIX) :].rstrip("/") or "/"
        found = routes.find(self.command, path)
        user = ""
        if found is None or found[0] is not routes.TICKET:
            user = authentication.user(self.command, self._told())
        if found is None:
            raise problem.Problem(501, f"Method '{self.command} {path}' not implemented")
        route, place = found
        node = place.get("node", "localhost")
        if node not in ("localhost", store.node_name()):
            _require_node(node)
            given = peers.sent_on(node, self.command, self.path, self._told(), body or None)
            return given.status, given.reason, given.body
        store.require_cluster()
        values = {**self._body(body), **_fields(parts.query)}
        checked(route, place, values)
        call = Call(user, _lower(values), place, access.load())
        return _good(route.answer(call))

    def _told(self) -> Dict[str, str]:
        """The headers that matter, under one spelling of their names."""
        return {name: self.headers[name] for name in peers.PASSED if name in self.headers}

    def _body(self, body: bytes) -> Dict[str, str]:
        if "json" in self.headers.get("Content-Type", ""):
            return {name: _text(value) for name, value in json.loads(body or b"{}").items()}
        return _fields(body.decode())


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _lower(values: Dict[str, str]) -> Dict[str, str]:
    """The sub-commands of pct know their options in lower case, as Getopt gives them."""
    return {name.lower() if name == "forceStop" else name: text for name, text in values.items()}


def _fields(text: str) -> Dict[str, str]:
    """As decode_urlencoded of the real one: a bare `;` parts, and a second `=` ends a value."""
    found: Dict[str, str] = {}
    for part in filter(None, re.split("[&;]", text)):
        if "=" not in part:
            raise problem.Problem(400, "value without key")
        name, value = map(unquote_plus, part.split("=")[:2])
        found[name] = f"{found[name]}\0{value}" if name in found else value
    return found


def _require_node(node: str) -> None:
    """500 for a name that the cluster does not have, as late as the real one gives up."""
    if node in cluster.addresses():
        return
    try:
        with open(UNKNOWN_NODE) as file:
            time.sleep(float(file.read()))
    except FileNotFoundError:
        time.sleep(UNKNOWN_NODE_S)
    reason = f"failed to get address info for: {node}: Name or service not known"
    raise problem.Problem(500, f"hostname lookup '{node}' failed - {reason}")


def _good(data: Any) -> Answer:
    return 200, "OK", json.dumps({"data": data}).encode()


def _failed(found: problem.Problem) -> Answer:
    # Only the first line of a message fits into the status line.
    reason = found.message.partition("\n")[0]
    if found.status == 401 and found.message != "authentication failure":
        return 401, reason, b""
    told: Dict[str, Any] = {"data": None, "message": f"{found.message}\n"}
    if found.errors:
        told["errors"] = found.errors
    return found.status, reason, json.dumps(told).encode()


class Server(http.server.ThreadingHTTPServer):
    """Listens on one address; with a certificate over TLS."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: Tuple[str, int], certificate: str = "", key: str = "") -> None:
        self.context: Optional[ssl.SSLContext] = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificate, key)
        super().__init__(address, Handler)

    def get_request(self) -> Tuple[socket.socket, Any]:
        plain, address = super().get_request()
        if self.context is None:
            return plain, address
        return self.context.wrap_socket(plain, True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away or speaks no TLS is no news."""


def main() -> int:
    """Serve for as long as the unit runs."""
    place = f"{cluster.ROOT}/nodes/{store.node_name()}"
    with Server(("", cluster.PORT), f"{place}/pve-ssl.pem", f"{place}/pve-ssl.key") as server:
        _ready()
        server.serve_forever()
    return 0


def _ready() -> None:
    """Tell systemd that the port is open (sd_notify)."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if path:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.sendto(b"READY=1", path.replace("@", "\0", 1))
