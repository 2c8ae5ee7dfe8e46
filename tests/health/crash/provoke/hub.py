"""A hub on this machine: what a download needs of Hugging Face's, and its two refusals."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from stoker.sandbox import tiny_model
from tests.health.crash.provoke import world
from tests.health.crash.provoke.scenario import Scenario

_COMMIT = "0123456789abcdef0123456789abcdef01234567"
_FILES = tiny_model.files()
_PORT = 8111
_ENV: dict[str, str | None] = {
    "HF_HUB_OFFLINE": None,
    "HF_ENDPOINT": f"http://127.0.0.1:{_PORT}",
    "no_proxy": "*",
}


class _Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, format: str, *words: object) -> None:
        pass

    def _answer(self, with_body: bool) -> None:
        path = self.path.split("?")[0]
        if "/gated/" in path:
            self._send(403, b"", {"X-Error-Code": "GatedRepo"}, with_body)
        elif "/absent/" in path:
            self._send(401, b"", {"X-Error-Code": "RepoNotFound"}, with_body)
        elif path.startswith("/api/"):
            self._send(200, json.dumps(self._listing(path)).encode(), {}, with_body)
        elif path.rsplit("/", 1)[1] in _FILES:
            content = _FILES[path.rsplit("/", 1)[1]]
            etag = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"'}
            self._send(200, content, etag, with_body)
        else:
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"}, with_body)

    def _listing(self, path: str) -> object:
        if "/tree/" in path:
            return [
                {"type": "file", "oid": "0" * 40, "size": len(text), "path": name}
                for name, text in _FILES.items()
            ]
        siblings = [{"rfilename": name} for name in _FILES]
        return {"id": "ember/tiny", "sha": _COMMIT, "siblings": siblings, "tags": []}

    def _send(self, code: int, body: bytes, more: dict[str, str], with_body: bool) -> None:
        self.send_response(code)
        headers = {"X-Repo-Commit": _COMMIT, "Content-Length": str(len(body))}
        for name, value in (headers | more).items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)


def _open() -> None:
    """A hub on this machine."""
    hub = ThreadingHTTPServer(("127.0.0.1", _PORT), _Hub)
    threading.Thread(target=hub.serve_forever, daemon=True).start()


def _small_home() -> None:
    """A home of 200 KiB, where the download of 470 KiB goes."""
    _open()
    world.small(world.HOME, "200k")


ALL = {
    "hub_healthy": Scenario({"--model-path": "ember/tiny"}, _ENV, prepare=_open),
    "hub_gated": Scenario({"--model-path": "gated/tiny"}, _ENV, prepare=_open),
    "hub_absent": Scenario({"--model-path": "absent/tiny"}, _ENV, prepare=_open),
    "disk_full": Scenario({"--model-path": "ember/tiny"}, _ENV, prepare=_small_home),
}
