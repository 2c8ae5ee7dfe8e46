"""Ansible with its plugin for Proxmox containers: as shipped, and patched in two ways.

The patched plugins are made at run time from the installed one, so none of its code is kept here.
"""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from stoker.refused import Refused
from stoker.sandbox.state import Container, State

from . import hosts
from .process import finished
from .tools import HERE, ROLE, Done

PINS = HERE / "ansible-requirements.txt"
PLUGIN = "ansible_collections/community/proxmox/plugins/connection/proxmox_pct_remote.py"
_CLASS = "    transport = 'community.proxmox.proxmox_pct_remote'\n"
_PIPELINED = (_CLASS, f"{_CLASS}    has_pipelining = True\n")
_ATTACHED = (
    "'/usr/sbin/pct', 'exec', str(self.get_option('vmid')),",
    "'lxc-attach', '-n', str(self.get_option('vmid')), '--clear-env',",
)


def installed(cache: Path) -> Path:
    """The virtual environment with the pinned Ansible, made at the first call (half a GB)."""
    pins = PINS.read_text()
    venv = cache / pins.split()[0].replace("==", "-")
    mark = venv / ".complete"
    if not (mark.exists() and mark.read_text() == pins):
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/pip", "install", "--quiet", "-r", PINS], check=True)
        mark.write_text(pins)
    return venv


@dataclass(frozen=True)
class Variant:
    """Ansible's name in the table, its connection plugin, and whether modules go through stdin."""

    name: str
    plugin: str
    pipelining: bool


SHIPPED = Variant("Ansible as shipped", "community.proxmox.proxmox_pct_remote", False)
PATCHED = Variant("Ansible patched for pipelining", "pct_pipelined", True)
# Not measured: it makes the end state in seconds, for the effect of a role is not its connection's.
ATTACHED = Variant("Ansible over lxc-attach", "pct_attached", True)


class Ansible:
    """ansible-playbook in one variant; its files go to `work`."""

    def __init__(self, variant: Variant, venv: Path, state: State, work: Path) -> None:
        self.name, self.variant, self.venv = variant.name, variant, venv
        self.state, self.work = state, work

    def run(self, containers: list[Container]) -> Done:
        """Play the role, a fork a container."""
        listed = self.work / "hosts.json"
        inventory = hosts.for_ansible(self.state, self.variant.plugin, containers)
        listed.write_text(json.dumps(inventory))
        result = finished(
            [self.venv / "bin/ansible-playbook", "-i", listed, "playbook.yml"],
            ROLE,
            self._environment() | {"ANSIBLE_FORKS": str(len(containers))},
        )
        recap = re.findall(r"^(\S+) +: ok=(\d+) +changed=(\d+)", result.stdout, re.M)
        if len(recap) != len(containers):
            raise Refused(f"cannot measure {self.name}: it told of {len(recap)} containers")
        return Done(result.seconds, sum(int(changed) for _host, _ok, changed in recap))

    def _environment(self) -> dict[str, str]:
        """Its home is ours, since the plugin knows host keys only from there."""
        home = self.work / "home"
        (home / ".ssh").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.state.known_hosts, home / ".ssh/known_hosts")
        empty = self.work / "ansible.cfg"  # else one in the working directory or in /etc counts
        empty.touch()
        settings = {"HOME": str(home), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CONFIG": str(empty)}
        if self.variant.pipelining:
            # With its default pty python3 waits on the terminal for ever.
            settings |= {"ANSIBLE_PIPELINING": "1", "ANSIBLE_PARAMIKO_PTY": "0"}
            settings |= {"ANSIBLE_CONNECTION_PLUGINS": str(self._patched())}
        return settings

    def _patched(self) -> Path:
        shipped = next(self.venv.glob(f"lib/python3.*/site-packages/{PLUGIN}")).read_text()
        plugins = self.work / "connections"
        plugins.mkdir(exist_ok=True)
        piped = _replaced(shipped, _PIPELINED)
        (plugins / "pct_pipelined.py").write_text(piped)
        (plugins / "pct_attached.py").write_text(_replaced(piped, _ATTACHED))
        return plugins


def _replaced(text: str, change: tuple[str, str]) -> str:
    if text.count(change[0]) != 1:
        raise Refused(
            f"cannot patch Ansible's plugin: it has no {change[0]!r}; look at its version"
        )
    return text.replace(*change)
