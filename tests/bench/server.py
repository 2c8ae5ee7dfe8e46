"""A small server as a unit of ours in the sandbox's container, asked for tokens from here."""

import contextlib
import io
import json
import tarfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from stoker.refused import Refused
from stoker.sandbox import lxc_node
from stoker.sandbox.stuck.container import UNITS, Target

from .tools import HERE

UNIT = "sglang.service"
PORT = 30000
_PROGRAM = HERE.parent / "standin"
_APART_S = 0.05


@dataclass(frozen=True)
class Server:
    """Where it runs."""

    target: Target

    def placed(self) -> None:
        """Program and unit are there; it is started with the container from now on."""
        words = ["pct", "exec", self.target.vmid, "--", "tar", "-xC", "/"]
        lxc_node.attach(self.target.state, self.target.node, words, _packed())
        self.target.shell(f"systemctl daemon-reload; systemctl enable --quiet {UNIT}")

    def start(self) -> None:
        """Start it; whether it serves is another matter."""
        words = ["lxc-attach", "-n", self.target.vmid, "--clear-env", "--"]
        script = f"systemctl reset-failed {UNIT}; systemctl start {UNIT}"
        lxc_node.attach(self.target.state, self.target.node, [*words, "sh", "-c", script])

    def serves(self, limit_s: float) -> None:
        """Wait for a generated token; `Refused` if none comes."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                if self._token():
                    return
            time.sleep(_APART_S)
        raise Refused(f"cannot measure: {UNIT} gave no token within {limit_s:.0f} s")

    def _token(self) -> bool:
        asked = json.dumps({"model": "tiny", "messages": [], "max_tokens": 1}).encode()
        url = f"http://{self.target.container.address}:{PORT}/v1/chat/completions"
        with urllib.request.urlopen(url, asked, timeout=5) as answer:
            return bool(json.load(answer)["usage"]["completion_tokens"])


def _packed() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        _add(archive, HERE / "standin.service", f"{UNITS}/{UNIT}")
        for path in (_PROGRAM / "sglang").glob("*.py"):
            _add(archive, path, f"/opt/standin/sglang/{path.name}")
    return made.getvalue()


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    data = path.read_bytes()
    entry = tarfile.TarInfo(name.lstrip("/"))
    entry.size, entry.mode = len(data), 0o644
    archive.addfile(entry, io.BytesIO(data))
