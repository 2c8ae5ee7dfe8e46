"""The single acts a rung is made of; printed, each is what a human would type or read."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Union

from stoker.health.seen import Holder

SIGNALS = {9: "SIGKILL", 15: "SIGTERM"}


@dataclass(frozen=True)
class Change:
    """Something that is given back, whatever happens."""

    kind: str
    """`mask` (a unit of the container), `container` (it was stopped), `persistence` (it was on),
    `service` (of the node, it ran), `frozen` (a cgroup), `module` (of the kernel, it was there)."""
    name: str
    """The unit, VMID, UUID, service, cgroup or module."""


@dataclass(frozen=True)
class Run:
    """A command on the node."""

    words: tuple[str, ...]
    limit_s: float
    driver: bool = False
    """Whether it changes the driver's state: then it is never ended, only left behind."""
    abandoned: bool = False
    """Whether it is left behind after its time, instead of ended."""
    must: bool = False
    """Whether the rung ends here if it fails."""
    while_running: bool = False
    """Whether it is left out once the container has stopped."""
    repeated: bool = False
    """Whether it is tried again until it succeeds or its time is over."""

    def __str__(self) -> str:
        return " ".join(shlex.quote(word) for word in self.words)


@dataclass(frozen=True)
class Signal:
    """A signal to one process, checked again just before it is sent."""

    number: int
    holder: Holder

    def __str__(self) -> str:
        who = f"process {self.holder.pid} ({self.holder.command or self.holder.name})"
        return f"{SIGNALS[self.number]} to {who} of {self.holder.owner}"


@dataclass(frozen=True)
class KillCgroup:
    """SIGKILL to everything in the cgroup of a unit of the container, at once."""

    path: str
    """As /proc/<pid>/cgroup has it, below `/lxc/<vmid>/`."""
    holders: tuple[Holder, ...]

    def __str__(self) -> str:
        told = ", ".join(f"{h.pid} ({h.command or h.name})" for h in self.holders)
        return f"echo 1 > /sys/fs/cgroup{self.path}/cgroup.kill, among them process {told}"


@dataclass(frozen=True)
class Remember:
    """Writes down what will have to be given back, before it is taken."""

    change: Change

    def __str__(self) -> str:
        return f"note that {self.change.kind} {self.change.name} is to be given back"


@dataclass(frozen=True)
class GiveBack:
    """Undoes a change that was written down, and strikes it out."""

    change: Change

    def __str__(self) -> str:
        return f"give back {self.change.kind} {self.change.name}"


@dataclass(frozen=True)
class Mark:
    """Writes down for this boot that it was tried; it is not tried again."""

    what: str
    """A GPU's UUID, or `reload`."""

    def __str__(self) -> str:
        return f"note for this boot: {self.what}"


@dataclass(frozen=True)
class Pause:
    """Waits."""

    seconds: float

    def __str__(self) -> str:
        return f"sleep {self.seconds:g}"


Act = Union[Run, Signal, KillCgroup, Remember, GiveBack, Mark, Pause]
