"""A client of a node's API that shows everything an answer has: status line, envelope, task."""

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from stoker.sandbox import account
from stoker.sandbox.state import State


@dataclass(frozen=True)
class Reply:
    """One answer."""

    status: int
    reason: str
    body: bytes

    @property
    def told(self) -> dict[str, Any]:
        """The envelope; empty where there is none."""
        found: dict[str, Any] = json.loads(self.body or b"{}")
        return found

    @property
    def data(self) -> Any:
        """What a good answer holds."""
        assert self.status == 200, f"{self.status} {self.reason}: {self.body!r}"
        return self.told["data"]

    @property
    def message(self) -> str:
        """What a bad one says, without its line end."""
        return str(self.told.get("message", self.reason)).rstrip("\n")


@dataclass(frozen=True)
class Api:
    """One sender at one node; without `ca_file` over plain http."""

    host: str
    port: int
    ca_file: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, /, **values: object) -> Reply:
        """One request over a connection of its own; the values as a form."""
        text = urlencode(values)
        query = f"?{text}" if text and method in ("GET", "DELETE") else ""
        return self.raw(method, path + query, "" if query else text)

    def raw(self, method: str, target: str, body: str = "") -> Reply:
        """The same with a body as it is."""
        context = ssl.create_default_context(cafile=self.ca_file) if self.ca_file else None
        if context:
            # Proxmox's own authority has no keyUsage.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        there = (
            http.client.HTTPSConnection(self.host, self.port, context=context, timeout=60)
            if context
            else http.client.HTTPConnection(self.host, self.port, timeout=60)
        )
        kind = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        try:
            there.request(method, f"/api2/json{target}", body or None, {**self.headers, **kind})
            answer = there.getresponse()
            return Reply(answer.status, answer.reason, answer.read())
        finally:
            there.close()

    def get(self, path: str, /, **values: object) -> Reply:
        return self.ask("GET", path, **values)

    def post(self, path: str, /, **values: object) -> Reply:
        return self.ask("POST", path, **values)

    def put(self, path: str, /, **values: object) -> Reply:
        return self.ask("PUT", path, **values)

    def ended(self, upid: str, node: str = "pve1") -> str:
        """How a task ended; its last line of log says the same."""
        path = f"/nodes/{node}/tasks/{upid}"
        until = time.monotonic() + 60
        while True:
            told = self.get(f"{path}/status").data
            if told["status"] == "stopped":
                break
            assert "exitstatus" not in told
            assert time.monotonic() < until, told
            time.sleep(0.1)
        end = str(told["exitstatus"])
        last = self.get(f"{path}/log", limit=1000).data[-1]["t"]
        kinds = {"OK": "TASK OK", "WARN": f"TASK {end}"}
        assert last == kinds.get(end.partition("INGS")[0], f"TASK ERROR: {end}")
        return end

    def task(self, method: str, path: str, /, **values: object) -> str:
        """How the task of a request ended, which was itself answered 200."""
        upid = self.ask(method, path, **values).data
        assert upid.startswith("UPID:"), upid
        return self.ended(upid)

    def sent_by(self, **headers: str) -> "Api":
        """The same node for another sender."""
        return Api(self.host, self.port, self.ca_file, headers)


def token(full: str, secret: str) -> str:
    """The Authorization header of an API token."""
    return f"PVEAPIToken={full}={secret}"


def of(state: State) -> Api:
    """The API of an instance's first node, for its deployment token."""
    secret = state.api_secret.read_text().strip()
    headers = {"Authorization": token(account.TOKEN, secret)}
    return Api(state.nodes[0].address, 8006, str(state.ca_file), headers)


def logged_in(api: Api, user: str, password: str) -> Api:
    """The same by a ticket."""
    found = api.sent_by().post("/access/ticket", username=user, password=password).data
    cookie = f"PVEAuthCookie={found['ticket']}"
    return api.sent_by(Cookie=cookie, CSRFPreventionToken=found["CSRFPreventionToken"])
