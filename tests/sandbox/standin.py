"""A small stand-in server as a unit of CT 200, and somebody who watches the neighbour meanwhile."""

import json
import shlex
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stoker.recovery import bundle
from stoker.sandbox import state as states
from stoker.sandbox.tenant import PORT
from tests.sandbox.site import ROOT, Site, standing

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UNITS = "/usr/local/lib/systemd/system"
_UNIT = """\
[Unit]
Description=STAND-IN for SGLang on GPU {gpu}
StartLimitIntervalSec=3600
StartLimitBurst=3

[Service]
Type=exec
ExecStart={python} -m sglang.launch_server --model-path tiny --host 127.0.0.1 --port {port}
Restart=always
RestartSec=1
KillMode=mixed
TimeoutStopSec=30
Environment=PYTHONPATH=/opt/standin LD_PRELOAD=libcuda.so.1
Environment=CUDA_VISIBLE_DEVICES={gpu} STANDIN_LOAD_S=1
EnvironmentFile=/etc/stoker/sglang@{gpu}.env
User={account}
WorkingDirectory=/opt/standin

[Install]
WantedBy=multi-user.target

[X-Stoker]
FlagSet=stand-in
SGLang=0.0
URL=http://127.0.0.1:{port}
Model=tiny
Python={python}
"""


@dataclass(frozen=True)
class Recovery:
    """How one call of `stoker.pyz recover` ended."""

    code: int
    changed: bool
    rungs: list[str]
    """Those that were climbed."""
    text: str
    seconds: float


@dataclass(frozen=True)
class Room:
    """A sandbox of one container with small servers, and a neighbour; no SGLang in it."""

    site: Site
    python: str = "python3"
    """Of CT 200."""

    def inside(self, script: str, check: bool = True) -> str:
        """A shell script in CT 200, without pct exec, which is as slow here as a real one."""
        words = f"lxc-attach -n 200 --clear-env -v {PATH} -- sh -c {shlex.quote(script)}"
        return self.site.node(words, check=check).stdout

    def recover(self, *words: str) -> Recovery:
        """`stoker.pyz recover 200` on the node, as its operator would call it."""
        began = time.monotonic()
        line = " ".join(
            ["python3 /var/lib/stoker/stoker.pyz recover 200 --json --release-wait 15", *words]
        )
        done = self.site.node(line, check=False)
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        text = "\n".join(str(event.get("text", "")) for event in events) + done.stderr
        rungs = list(dict.fromkeys(str(e["rung"]) for e in events if e["event"] == "begin"))
        changed = bool(events and events[-1].get("changed"))
        return Recovery(done.returncode, changed, rungs, text, time.monotonic() - began)

    def stuck(self, scenario: str) -> None:
        """Bring it into that state: the server on GPU 0 failed, the one on GPU 3 serving."""
        sandbox(self.site.instance, "break", scenario)
        if not self.pid(3).strip("0"):
            self.inside("systemctl reset-failed sglang@3; systemctl start sglang@3")
            self.until_answers(3)

    def alone(self) -> None:
        """Stop the sister server, so that the container may be restarted."""
        self.inside("systemctl stop sglang@3")

    def pid(self, gpu: int) -> str:
        """Main process of the stand-in server on that GPU; 0: none."""
        show = f"systemctl show -p MainPID --value sglang@{gpu}.service"
        return self.inside(show).strip()

    def answers(self, gpu: int) -> bool:
        """Whether the server on that GPU gives a token."""
        ask = (
            "import json,urllib.request as u;"
            f"r=u.Request('http://127.0.0.1:{30000 + gpu}/v1/chat/completions',"
            "json.dumps({'model':'tiny','max_tokens':1}).encode());"
            "print(json.load(u.urlopen(r,timeout=5))['usage']['completion_tokens'])"
        )
        return self.inside(f'{self.python} -c "{ask}"', check=False).strip() == "1"

    def whole_again(self) -> None:
        """Healed, the container running, and both servers answering."""
        sandbox(self.site.instance, "break", "--heal")
        if "running" not in self.site.node("pct status 200").stdout:
            self.site.node("pct start 200")
        units = "sglang@0.service sglang@3.service"
        verbs = ("unmask --runtime", "reset-failed", "start")
        self.inside("; ".join(f"systemctl {verb} {units}" for verb in verbs), check=False)
        for gpu in (0, 3):
            self.until_answers(gpu)

    def until_answers(self, gpu: int) -> None:
        """Wait for that server, which takes about two seconds."""
        until = time.monotonic() + 60
        while not self.answers(gpu):
            assert time.monotonic() < until, self.inside("systemctl status 'sglang@*'", check=False)
            time.sleep(0.3)


def sandbox(instance: str, *words: str) -> str:
    """One of the sandbox's own commands."""
    command = [sys.executable, "-m", "stoker.sandbox", *words, "--name", instance]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


@contextmanager
def room(instance: str, path: Path) -> Iterator[Room]:
    """The whole thing, up meanwhile: servers on GPUs 0 and 3, the neighbour on 7."""
    with standing(instance, path, "--neighbours", "1") as site:
        found = Room(site)
        found.inside("apt-get update -q >/dev/null && apt-get install -qy python3 >/dev/null 2>&1")
        servers(site, (0, 3))
        placed(site)
        found.whole_again()
        yield found


def servers(
    site: Site, gpus: Sequence[int], python: str = "/usr/bin/python3", account: str = "root"
) -> None:
    """Units of small servers on these GPUs, which start with CT 200 from its next start on."""
    room = Room(site)
    room.inside(f"mkdir -p /opt/standin/sglang /etc/stoker {UNITS}")
    for source in sorted((ROOT / "tests/standin/sglang").glob("*.py")):
        pushed(site, source.read_text(), f"/opt/standin/sglang/{source.name}")
    for gpu in gpus:
        unit = _UNIT.format(gpu=gpu, port=30000 + gpu, python=python, account=account)
        pushed(site, unit, f"{UNITS}/sglang@{gpu}.service")
        pushed(site, "STOKER_DIGEST=none\n", f"/etc/stoker/sglang@{gpu}.env")
    names = " ".join(f"sglang@{gpu}" for gpu in gpus)
    room.inside(f"systemctl daemon-reload; systemctl enable -q {names}")


def placed(site: Site) -> None:
    """stoker.pyz lies on the node."""
    words = "mkdir -p /var/lib/stoker && cat > /var/lib/stoker/stoker.pyz"
    site.node(words, stdin=bundle.contents())


def pushed(site: Site, text: str, path: str) -> None:
    """A file in CT 200."""
    site.node(f"cat > /tmp/pushed && pct push 200 /tmp/pushed {path}", stdin=text.encode())


class Neighbour:
    """Asks the neighbour's server twice a second whether it is still there."""

    def __init__(self, instance: str) -> None:
        self.address = states.load(instance).neighbours[0].address
        self.asked = 0
        self.missed: list[str] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self) -> "Neighbour":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._ended.wait(0.5):
            self.asked += 1
            try:
                urllib.request.urlopen(f"http://{self.address}:{PORT}/v1/models", timeout=5).close()
            except OSError as error:
                self.missed.append(f"question {self.asked}: {error}")
