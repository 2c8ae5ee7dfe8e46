"""CT 200 of an instance as `break` works on it: its shell, its GPUs, our units in it."""

import shlex
from dataclasses import dataclass

from stoker.refused import Refused
from stoker.sandbox import lxc_node
from stoker.sandbox.state import Container, Node, State

UNITS = "/usr/local/lib/systemd/system"
_DROP_IN = "stoker-sandbox-stuck.conf"

# Restart=no until the unit has come to its end: what follows is a death that it does not recover
# from. One that is still `deactivating` would start again with its own Restart=.
_GIVE_UP = f"""
unit=$1
systemctl is-active --quiet "$unit" || {{ systemctl stop "$unit"; exit 0; }}
mkdir -p "/run/systemd/system/$unit.d"
printf '[Service]\\nRestart=no\\n' >"/run/systemd/system/$unit.d/{_DROP_IN}"
systemctl daemon-reload
systemctl kill --signal=KILL "$unit"
for _ in $(seq 100); do
  case $(systemctl is-active "$unit") in failed | inactive) break ;; esac
  sleep 0.1
done
rm -r "/run/systemd/system/$unit.d"
systemctl daemon-reload
"""


@dataclass(frozen=True)
class Target:
    """The first container of an instance."""

    state: State
    node: Node
    container: Container

    @property
    def vmid(self) -> str:
        return str(self.container.vmid)

    def shell(self, script: str, *words: str, check: bool = True) -> str:
        """Run a script of /bin/sh in it, with these as $1 and so on; give its output."""
        asked = ["pct", "exec", self.vmid, "--", "sh", "-c", script, "sh", *words]
        return lxc_node.attach(self.state, self.node, asked, check=check)

    def nodes(self, minor: int) -> list[str]:
        """What a CUDA process on that GPU has open."""
        return [f"/dev/nvidia{minor}", "/dev/nvidiactl", "/dev/nvidia-uvm"]

    def units(self) -> list[str]:
        """Names of our servers' units in it; none where nothing was deployed."""
        listed = self.shell(f"grep -lsE '^URL=.' {UNITS}/*.service; true")
        return [line.rpartition("/")[2] for line in listed.split()]

    def given_up(self) -> None:
        """All our units in it are failed: killed by SIGKILL, and not started again."""
        for unit in self.units():
            self.shell(_GIVE_UP, unit)


def of(state: State) -> Target:
    """CT 200; `Refused` where the instance has none or it does not run."""
    if not state.containers or not state.gpus:
        raise Refused(
            f"cannot break sandbox {state.name}: it has no container with a GPU; build one with "
            "--containers 1 --gpus 8"
        )
    first = state.containers[0]
    node = next(node for node in state.nodes if node.name == first.node)
    target = Target(state, node, first)
    status = lxc_node.attach(state, node, ["pct", "status", target.vmid]).split()[-1]
    if status != "running":
        raise Refused(
            f"cannot break sandbox {state.name}: its container {target.vmid} is {status}; run "
            f"`python -m stoker.sandbox up --name {state.name}`"
        )
    return target


@dataclass(frozen=True)
class Command:
    """A server as its unit would start it. Quoting of systemd's that shells share is understood."""

    words: list[str]
    environment: list[str]
    environment_file: str
    user: str
    directory: str

    @property
    def port(self) -> int:
        """Where it will listen."""
        return int(self.words[self.words.index("--port") + 1])


def command(unit_text: str) -> Command:
    """What a unit file says of its server."""
    told: dict[str, list[str]] = {}
    for line in unit_text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            told.setdefault(name, []).append(value)
    return Command(
        words=shlex.split(told["ExecStart"][-1]),
        environment=[pair for value in told.get("Environment", []) for pair in shlex.split(value)],
        environment_file=told["EnvironmentFile"][-1],
        user=told["User"][-1],
        directory=told["WorkingDirectory"][-1],
    )
