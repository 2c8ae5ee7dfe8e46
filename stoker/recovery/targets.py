"""Which device numbers are the driver's, what they are called, and which GPU each belongs to."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Iterable

from stoker.recovery import files
from stoker.recovery.cards import Card
from stoker.recovery.machine import Machine
from stoker.recovery.numbers import Number

_FIXED = 195
"""The driver's major, the same everywhere; the others are given out at load."""
_OF_MAJOR = {
    "nvidia": {254: "nvidia-modeset", 255: "nvidiactl"},
    "nvidia-uvm": {0: "nvidia-uvm", 1: "nvidia-uvm-tools"},
}


@dataclass(frozen=True)
class Targets:
    """The numbers that make a process a holder."""

    exact: dict[Number, str]
    """Names of single numbers: DRM nodes of the GPUs, the stand-in's nodes."""
    majors: dict[int, str]
    """Majors that are the driver's as a whole, with the name /proc/devices has for them."""
    gpus: dict[str, str]
    """UUID of the GPU by the name of its own node; a GPU without a known UUID is not there."""

    def wanted(self, number: Number) -> bool:
        """Whether the device is the driver's."""
        return number[0] in self.majors or number in self.exact

    def name(self, number: Number) -> str:
        """The node's name by its number, wherever the file lies and whatever it is called."""
        if number in self.exact:
            return self.exact[number]
        major, minor = number
        kind = self.majors[major]
        if kind.startswith("nvidia-caps"):
            return f"{'nvidia-cap' if kind == 'nvidia-caps' else kind + '-channel'}{minor}"
        return _OF_MAJOR.get(kind, {}).get(minor, f"{kind}{minor}")


def of(machine: Machine, cards: Iterable[Card]) -> Targets:
    """The driver's numbers on this node, now; a reload of the driver may change them."""
    cards = list(cards)
    gpus = {
        f"nvidia{card.minor}": card.uuid for card in cards if card.uuid and card.minor is not None
    }
    if machine.stand_in:
        return Targets(_stand_in(machine), {}, gpus)
    exact: dict[Number, str] = {}
    for card in cards:
        if card.binding == "nvidia":
            for number, name in _drm(machine, card.bdf).items():
                exact[number] = name
                if card.uuid:
                    gpus[name] = card.uuid
    named = majors(files.text(machine.of_driver("/proc/devices")))
    kinds = {major: "nvidia" if major == _FIXED else name for name, major in named.items()}
    return Targets(exact, {_FIXED: "nvidia", **kinds}, gpus)


def majors(devices: str) -> dict[str, int]:
    """Character majors of the driver by name, from the text of /proc/devices."""
    characters = devices.partition("Block devices:")[0]
    found = re.findall(r"^\s*(\d+)\s+(nvidia\S*)\s*$", characters, re.MULTILINE)
    return {name: int(major) for major, name in found}


def _drm(machine: Machine, bdf: str) -> dict[Number, str]:
    """Display and render nodes of a GPU, by number."""
    folder = machine.of_driver(f"/sys/bus/pci/devices/{bdf}/drm")
    found = {}
    for name in files.names(folder):
        told = re.fullmatch(r"(\d+):(\d+)\s*", files.text(f"{folder}/{name}/dev"))
        if told:
            found[int(told[1]), int(told[2])] = name
    return found


def _stand_in(machine: Machine) -> dict[Number, str]:
    """What the sandbox says its nodes are; nothing if it has none."""
    try:
        told = json.loads(files.text(machine.of_driver("/nodes.json")) or "{}")
        return {(int(major), int(minor)): str(name) for name, (major, minor) in told.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
