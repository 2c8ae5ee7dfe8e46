"""Small servers in SGLang's place that a deploy brings up and that die as real ones did."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from stoker.serving import layout, loading, lock
from stoker.serving.placement import units_of
from stoker.serving.rendering import own_files, support_of
from tests.sandbox.site import ROOT, Run, Site, standing
from tests.sandbox.standin import Room, pushed

LOGS = "/opt/standin/logs"
IDLE_S = 30
"""After this it is a stall; a real server is given minutes."""
_DEPLOY = """\
from pyinfra import host

from roles.flagsets import flagsets
from roles.service import service
from stoker.operations import service as operations
from stoker.serving.changing.lease import Lease
from stoker.serving.following import Patience

operations.Patience = lambda: Patience(idle_s={idle_s})
operations.Lease = lambda: Lease(seconds={lease_s})
flagsets()
if "inference" in host.groups:
    service()
"""
_CONTAINER = """
apt-get update -q >/dev/null && apt-get install -qy --no-install-recommends python3 >/dev/null
useradd --system --user-group --home-dir /var/lib/sglang --create-home sglang
mkdir -p "$venv/bin" "$venv/lib/python3.11/site-packages/sglang" /opt/standin/logs
ln -s /usr/bin/python3.11 "$venv/bin/python"
echo "home = /usr/bin" > "$venv/pyvenv.cfg"
"""


@dataclass(frozen=True)
class Dying:
    """One server: its flag set's name is its way to die; GPU and port are its own."""

    name: str
    gpu: int
    expected: str
    """The class of its death."""
    shown: str = ""
    """What must be told of it too."""
    end: str = ""
    """How it ends, as the stand-in takes it."""
    log: Path | None = None
    """What it writes before; None: nothing."""
    flags: dict[str, Any] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        return f"sglang@{self.gpu}.service"

    def flag_set(self, **env: str) -> dict[str, Any]:
        """Its flag set; with `env` it serves instead, in this environment."""
        log = f"{LOGS}/{self.log.name}" if self.log else "/dev/null"
        dying = {"STANDIN_REPLAY": log, "STANDIN_END": self.end} if self.end else {}
        return {
            "name": self.name,
            "sglang": "0.5.12",
            "model": {"path": "/models/sandbox-tiny", "served_name": self.name},
            "placement": {"layout": "one-per-gpu", "gpus": [self.gpu]},
            "port": 30100 + 9 * self.gpu,
            "flags": {} if env else self.flags,
            "env": {"STANDIN_TOKENS_PER_S": "3000", **env} if env else dying,
            "status": {"state": "reported", "by": "tests", "machine": "none", "note": "stand-in"},
        }


@dataclass(frozen=True)
class Ward:
    """A sandbox whose container runs such servers."""

    room: Room
    venv: PurePosixPath
    """Of the small servers, which is none of SGLang's."""

    @property
    def site(self) -> Site:
        return self.room.site

    def wants(self, *flagsets: dict[str, Any]) -> str:
        """Write these flag sets; pyinfra's `--data` that asks for them, and no others."""
        for flagset in flagsets:
            path = self.site.path / "group_data/flagsets" / f"{flagset['name']}.yaml"
            path.write_text(yaml.safe_dump(flagset))
        return f"flagsets={json.dumps([flagset['name'] for flagset in flagsets])}"

    def left(self, *flagsets: dict[str, Any]) -> None:
        """Their units lie there and are started, without a deploy: nobody undoes what dies."""
        self.wants(*flagsets)
        names = [flagset["name"] for flagset in flagsets]
        loaded = loading.load(self.site.path / "group_data/flagsets", names)
        units = [unit for one in loaded for unit in units_of(one, self.venv, self.venv / "cuda")]
        files = (*support_of(units), *own_files(units))
        self.room.inside(f"mkdir -p {' '.join({str(file.path.parent) for file in files})}")
        for file in files:
            pushed(self.site, file.text, str(file.path))
            self.room.inside(f"chmod {file.mode:o} {file.path}")
        started = " ".join(unit.name for unit in units)
        self.room.inside(f"systemctl daemon-reload; systemctl start --no-block {started}")

    def deploy(self, *flagsets: dict[str, Any]) -> Run:
        """The service role alone, for these flag sets."""
        return self.site.deploy(self.wants(*flagsets))

    def reports(self, unit: str) -> list[dict[str, Any]]:
        """Oldest first."""
        path = layout.DEATHS / f"{unit}.json"
        text = self.room.inside(f"cat {path}", check=False)
        return list(json.loads(text or "[]"))

    def shown(self, unit: str, *names: str) -> list[str]:
        """These properties of the unit."""
        words = " ".join(f"-p {name}" for name in names)
        return self.room.inside(f"systemctl show --value {words} {unit}").split()


@contextmanager
def ward(
    instance: str, path: Path, logs: list[Path], idle_s: float = IDLE_S, lease_s: float = 90
) -> Iterator[Ward]:
    """The whole of it, up meanwhile."""
    with standing(instance, path) as site:
        (site.path / "deploy.py").write_text(_DEPLOY.format(idle_s=idle_s, lease_s=lease_s))
        room = Room(site)
        venv = layout.venv_path(lock.load(ROOT / "locks", "0.5.12").lock_for("3.11"))
        room.inside(f"venv={venv}\n{_CONTAINER}")
        package = layout.site_packages(venv, "3.11") / "sglang"
        for source in sorted((ROOT / "tests/standin/sglang").glob("*.py")):
            pushed(site, source.read_text(), f"{package}/{source.name}")
        for log in logs:
            pushed(site, log.read_text(errors="surrogateescape"), f"{LOGS}/{log.name}")
        yield Ward(room, venv)
