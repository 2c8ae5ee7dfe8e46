"""A copy of the deploy directory on a sandbox instance of its own, for end-to-end tests."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml

from stoker.sandbox import lxc_node, places
from stoker.sandbox import state as states
from stoker.sandbox.node.startup_cost import SETTING as COST

ROOT = Path(__file__).parents[2]
INVENTORY = "inventory/sandbox.py"
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Run:
    """What one call of pyinfra came to."""

    rc: int
    text: str
    seconds: float

    @property
    def changed(self) -> int:
        """How many operations changed something, over all hosts; from pyinfra's own totals."""
        totals = re.search(r"Grand total\s+(\d+)\s+([\d-]+)", self.text)
        assert totals, self.text
        return int(totals[2].replace("-", "0"))


@dataclass(frozen=True)
class Site:
    """A copy of the deploy directory that a test may edit."""

    path: Path
    instance: str
    """Name of its sandbox."""

    def words(self, *data: str) -> list[str]:
        # No flag set has evidence of a machine that was made a minute ago.
        asked = () if any(item.startswith("candidate=") for item in data) else ("candidate=yes",)
        extra = [word for item in (*asked, *data) for word in ("--data", item)]
        return [str(BIN / "pyinfra"), "-y", *extra, INVENTORY, "deploy.py"]

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "STOKER_SANDBOX": self.instance,
            "PATH": f"{BIN}:{os.environ['PATH']}",
        }

    def deploy(self, *data: str) -> Run:
        return self._run(self.words(*data))

    def pyinfra(self, *words: str) -> Run:
        """pyinfra on the inventory: options, then a deploy file."""
        *options, file = words
        # With -y a dry run would not even look for changes.
        sure = [] if "--dry" in options else ["-y"]
        return self._run([str(BIN / "pyinfra"), *sure, *options, INVENTORY, file])

    def _run(self, words: list[str]) -> Run:
        start = time.monotonic()
        done = subprocess.run(
            words, cwd=self.path, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        return Run(done.returncode, done.stdout, time.monotonic() - start)

    def deploy_and_kill_in(self, operation: str, after_s: float, *data: str) -> bool:
        """Start a deploy and kill it the hard way, some seconds after this operation began.

        False if it ended before.
        """
        with subprocess.Popen(
            self.words(*data), cwd=self.path, env={**self.environment, "PYTHONUNBUFFERED": "1"},
            start_new_session=True, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            began = any(operation in line for line in process.stdout)
            time.sleep(after_s)
            alive = process.poll() is None
            if alive:
                os.killpg(process.pid, signal.SIGKILL)
            process.stdout.read()
        return began and alive

    def status(self) -> dict[str, dict[str, object]]:
        """Our units as `stoker status --json` tells them, by name."""
        done = subprocess.run(
            [str(BIN / "stoker"), "status", INVENTORY, "--json"],
            cwd=self.path, env=self.environment, text=True, capture_output=True, check=False,
        )  # fmt: skip
        return {row["unit"]: row for row in json.loads(done.stdout)}

    def node(
        self, command: str, check: bool = True, stdin: bytes = b""
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell command on the node pve1, as its operator would over ssh.

        All share one connection: a new one takes longer than most of what is asked.
        """
        state = states.load(self.instance)
        told = {
            "BatchMode": "yes",
            "UserKnownHostsFile": state.known_hosts,
            "ControlMaster": "auto",
            "ControlPath": state.directory / "test-%C",
            "ControlPersist": "60",
        }
        options = [word for key, value in told.items() for word in ("-o", f"{key}={value}")]
        to = f"root@{state.nodes[0].address}"
        words = ["ssh", "-T", *options, "-i", str(state.ssh_key), to, command]
        done = subprocess.run(words, input=stdin, capture_output=True, check=check)
        out, err = (said.decode(errors="replace") for said in (done.stdout, done.stderr))
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    def flag_set(self, name: str, **changed: object) -> None:
        """Write a flag set of the site anew with some of its top-level keys changed."""
        path = self.path / "group_data" / "flagsets" / f"{name}.yaml"
        values = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump({**values, **changed}))


@contextmanager
def standing(instance: str, path: Path, *options: str) -> Iterator[Site]:
    """A site at `path` and its sandbox, which is up meanwhile and gone afterwards.

    With STOKER_TEST_KEEP in the environment it stays, for a look at what went wrong.
    """
    sandbox = [sys.executable, "-m", "stoker.sandbox"]
    subprocess.run([*sandbox, "up", "--name", instance, *options], check=True)
    try:
        for name in ("inventory", "roles", "templates", "group_data", "locks"):
            shutil.copytree(ROOT / name, path / name)
        for name in ("deploy.py", "diagnose.py", "recover.py"):
            shutil.copy(ROOT / name, path)
        pct_costs_nothing(instance)
        yield Site(path, instance)
    finally:
        if "STOKER_TEST_KEEP" not in os.environ:
            subprocess.run([*sandbox, "down", "--name", instance], check=True)


def pct_costs_nothing(instance: str) -> None:
    """What it does is tested with this instance, and what it costs in test_pct_containers.py."""
    state = states.load(instance)
    script = f"mkdir -p {PurePosixPath(COST).parent} && echo 0 > {COST}"
    for node in state.nodes:
        lxc_node.attach(state, node, ["sh", "-c", script])


def mounted(instance: str) -> list[str]:
    """What is mounted on this machine because of that sandbox; nodes have their own mounts."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [line for line in lines if str(places.instance(instance)) in line]
