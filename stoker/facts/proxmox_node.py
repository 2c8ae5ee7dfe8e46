"""A node as the declaration of a container needs it: what it can do, its GPUs, its containers.

One quick command, since it is asked for each container in each run, and again right before what
cannot be taken back.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from stoker.container import version
from stoker.container.devices import Card
from stoker.container.version import Version
from stoker.recovery.targets import majors as nvidia_majors

_LOOK = (Path(__file__).parent / "on_node" / "look.py").read_text(encoding="utf-8")
COMMAND = ("/usr/bin/python3", "-I", "-S", "-c", _LOOK)
_MAJOR = re.compile(r"^\s*(\d+)\s+(\S+)\s*$", re.MULTILINE)


class Result(Protocol):
    """How a command ended."""

    @property
    def code(self) -> int:
        """0: it succeeded."""

    @property
    def stdout(self) -> bytes:
        """What it printed."""

    @property
    def stderr(self) -> bytes:
        """What it said of itself."""


Run = Callable[[Sequence[str]], Result]


class NotSeen(OSError):  # noqa: N818 - it is what happened
    """The node could not be looked at; nothing was changed."""


@dataclass(frozen=True)
class NodeLook:
    """A node at one moment."""

    name: str
    """As in /etc/pve/nodes."""
    version: Version
    """Of pve-container; no parts: not known, which is taken for one that can do nothing new."""
    cards: tuple[Card, ...] = ()
    """Every NVIDIA GPU on the bus, by PCI address."""
    numbers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Major and minor of NVIDIA's character devices, by path."""
    majors: Mapping[int, str] = field(default_factory=dict)
    """Name of each character major in /proc/devices, NVIDIA's and all others."""
    texts: Mapping[int, str] = field(default_factory=dict)
    """Configuration files of all containers of the node, templates too: as they are, with what is
    no UTF-8 as surrogates."""
    running: frozenset[int] = frozenset()
    restarting: frozenset[int] = frozenset()
    """Those that a run stopped for a change and did not start again yet, since the node's boot."""
    missing: tuple[str, ...] = ()
    """Of the paths that were asked for those that are not there."""
    elsewhere: Mapping[int, str] = field(default_factory=dict)
    """Node of each container of another node of the cluster."""
    machines: Mapping[int, str] = field(default_factory=dict)
    """Node of each VM of the cluster: their VMIDs are taken too."""
    pci: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Lines `hostpciN: ...` of each VM of the node."""
    quorate: bool = True
    """Whether the node's cluster can be written to."""


def look(run: Run, paths: Sequence[str] = ()) -> NodeLook:
    """Look at a node, and whether it has these paths; `run` runs words on it as root.

    Raises NotSeen.
    """
    ran = run((*COMMAND, *paths))
    if ran.code != 0:
        said = ran.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise NotSeen(
            f"cannot look at the node: its python3 ended with {ran.code}: {said or 'no message'}; "
            "it needs Python 3.9 or later as /usr/bin/python3"
        )
    return parse(ran.stdout.decode(), paths)


def parse(printed: str, paths: Sequence[str] = ()) -> NodeLook:
    """The look in what `on_node/look.py` printed. Raises NotSeen for a part that did not answer;
    paths of which nothing is said are taken to be there."""
    told: dict[str, Any] = ast.literal_eval(printed)
    if told["pve"] is None:
        raise NotSeen(
            f"cannot look at node {told['node']}: /etc/pve does not answer or is not mounted; "
            "see systemctl status pve-cluster there"
        )
    if told["driver"] is None:
        raise NotSeen(
            f"cannot look at node {told['node']}: NVIDIA's driver does not answer; "
            "see dmesg | grep NVRM there, a GPU may be stuck"
        )
    pve, cards = ast.literal_eval(told["pve"]), ast.literal_eval(told["driver"])
    there = paths if told["existing"] is None else ast.literal_eval(told["existing"])
    return NodeLook(
        name=told["node"],
        version=version.parse(told["version"]),
        cards=tuple(_card(*card) for card in cards),
        numbers=told["numbers"],
        majors=_majors(told["devices"], told["own_devices"]),
        texts=pve["texts"],
        running=frozenset(told["running"]),
        restarting=frozenset(told["restarting"]),
        missing=tuple(path for path in paths if path not in there),
        elsewhere=pve["elsewhere"],
        machines=pve["machines"],
        pci=pve["pci"],
        quorate=pve["quorate"],
    )


def _card(bdf: str, bound: str, information: str) -> Card:
    uuid = _value(information, "GPU UUID")
    minor = _value(information, "Device Minor")
    return Card(
        uuid="" if "?" in uuid else uuid,
        bdf=bdf,
        minor=int(minor) if minor.isdigit() else None,
        driver=bound,
    )


def _value(text: str, key: str) -> str:
    line = re.search(rf"^{key}:[ \t]*(.*?)[ \t]*$", text, re.MULTILINE)
    return line[1] if line else ""


def _majors(devices: str, stand_ins: str) -> dict[int, str]:
    """Names by character major; where the driver is a stand-in, its own come first."""
    characters = devices.partition("Block devices:")[0]
    own = {major: name for name, major in nvidia_majors(stand_ins).items()}
    return {int(major): name for major, name in _MAJOR.findall(characters)} | own
