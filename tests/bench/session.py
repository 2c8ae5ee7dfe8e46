"""One run of the bench on a sandbox that is up: prepare, measure, check what every tool left."""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from stoker.refused import Refused
from stoker.sandbox.state import Container, State

from . import hosts, node, plan, with_ansible, with_pyinfra
from .process import finished
from .rows import Aim, Measured, told
from .tools import ROLE, Tool


@dataclass
class Session:
    """The tools on one sandbox; `measured` fills as cells are run."""

    state: State
    work: Path
    ansible: Path
    measured: list[Measured] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._begun = time.monotonic()
        self.stoker = with_pyinfra.stoker(self.state, self.work)
        self.baseline = with_pyinfra.pct_exec(self.state, self.work)
        variants = {plan.SHIPPED: with_ansible.SHIPPED, plan.PATCHED: with_ansible.PATCHED}
        self.tools: dict[str, Tool] = {plan.STOKER: self.stoker, plan.PCT_EXEC: self.baseline}
        self.tools |= {key: self._ansible(variant) for key, variant in variants.items()}

    def _ansible(self, variant: with_ansible.Variant) -> with_ansible.Ansible:
        return with_ansible.Ansible(variant, self.ansible, self.state, self.work)

    @property
    def containers(self) -> list[Container]:
        """All containers of the sandbox, by VMID."""
        return sorted(self.state.containers, key=lambda container: container.vmid)

    def say(self, what: str) -> None:
        """A line of progress with the time since the session began."""
        print(f"  {time.monotonic() - self._begun:5.0f} s  {what}", flush=True)

    def prepare(self) -> None:
        """Make the end state by Ansible on the first container, by Stoker on the others.

        Each tool then finds its own work and another's, and must find nothing to change in either.
        """
        self.say("python3 into the containers, which Ansible needs")
        self.stoker.run(self.containers, "prepare.py")
        first, *others = self.containers
        self.say("the role by Ansible on the first container, by Stoker on the others")
        self._ansible(with_ansible.ATTACHED).run([first])
        self.stoker.run(others)
        self.check(self.containers)

    def check(self, containers: list[Container]) -> None:
        """The same testinfra tests on every container; `Refused` with their words if one fails."""
        self.say(f"the end state of {len(containers)} containers")
        asked = hosts.for_testinfra(self.state, self.work / "ssh_config", containers)
        words = [sys.executable, "-P", "-m", "pytest", "-qx", "-p", "no:cacheprovider"]
        words += ["-p", "stoker.testinfra", f"--hosts={asked}"]
        finished([*words, ROLE / "check_state.py"], ROLE, {})

    def first_runs(self) -> list[Aim]:
        """Seconds of each tool that applies the role to the first container, made bare before."""
        first = self.containers[:1]
        taken = []
        for tool in self.tools.values():
            self.stoker.run(first, "undo.py")
            self.say(f"{tool.name} on one bare container")
            taken.append(told(f"first run, {tool.name}", tool.run(first).seconds, "s"))
            self.check(first)
        return taken

    def measure(self, cell: plan.Cell) -> None:
        """Run a tool where nothing is to be changed; `Refused` if it changes something."""
        tool = self.tools[cell.tool]
        self.say(f"{tool.name} on {cell.containers}")
        before = node.pct_starts(self.state)
        done = tool.run(self.containers[: cell.containers])
        starts = node.pct_starts(self.state) - before
        if done.changed:
            raise Refused(
                f"cannot compare {tool.name}: it changed {done.changed} things where nothing was "
                "to be changed; make deploy.py and playbook.yml of the same effect"
            )
        commands = starts if done.commands is None else done.commands
        run = Measured(tool.name, cell.containers, done.seconds, commands, starts)
        self.measured.append(run)
        self.say(f"    {run.seconds:.1f} s, {run.commands} commands, {run.pct_starts} pct starts")
