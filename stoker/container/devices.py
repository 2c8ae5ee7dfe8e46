"""The device nodes that pass GPUs into a container."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from stoker.container import property_string
from stoker.refused import Refused

CONTROL = "/dev/nvidiactl"
UVM = "/dev/nvidia-uvm"
UVM_TOOLS = "/dev/nvidia-uvm-tools"
CAPABILITIES = "/dev/nvidia-caps/"
DRIVER = "nvidia"
BOOT_UNIT = "stoker-gpu-nodes.service"
"""Of the node: makes the device nodes before any container starts."""


@dataclass(frozen=True)
class Card:
    """A GPU in a slot of a node."""

    uuid: str
    """Empty until the driver has initialised it, and where another driver has it."""
    bdf: str
    """PCI address as sysfs writes it, lower case: `0000:01:00.0`."""
    minor: int | None
    """N of /dev/nvidiaN: of this boot, so it is never what an inventory names. None: NVIDIA's
    driver has given it none."""
    driver: str = DRIVER
    """Of the kernel; `vfio-pci`: it is for a VM. Empty: none."""

    def __str__(self) -> str:
        return f"{self.uuid or 'UUID not known'} at {self.bdf}{_state(self)}"

    @property
    def node(self) -> str:
        """Its device node of this boot; only of a GPU with a minor."""
        return f"/dev/nvidia{self.minor}"


@dataclass(frozen=True)
class Device:
    """One `devN` as it should be."""

    path: str
    mode: int = 0o666
    gid: int | None = None
    """In the container; None: root's."""

    @property
    def value(self) -> str:
        """As Proxmox writes it: the path, then the rest by name."""
        gid = {} if self.gid is None else {"gid": str(self.gid)}
        mode = {"mode": f"{self.mode:04o}"}
        return property_string.render("dev", {"path": self.path, **gid, **mode})


def chosen(asked: str | Sequence[str], cards: Sequence[Card]) -> tuple[Card, ...]:
    """The GPUs that an inventory names (`gpu_names`), each once, in the order of their PCI
    addresses.

    `all`: those that no VM has. Raises Refused with every reason at once.
    """
    if asked == "all":
        return _every(cards)
    found, wrong = set(), []
    for name in asked:
        try:
            found.add(_one(name, cards))
        except Refused as error:
            wrong.append(str(error))
    if wrong:
        raise Refused("\n".join(wrong))
    return tuple(sorted(found, key=lambda card: card.bdf))


def wanted(
    cards: Sequence[Card],
    paths: Collection[str],
    mode: int = 0o666,
    gid: int | None = None,
    capabilities: bool = False,
) -> tuple[Device, ...]:
    """What a container needs for these GPUs.

    `paths`: those of the node's paths that are character devices now. Raises Refused if one that is
    needed is not there: Proxmox would not start the container.
    """
    if not cards:
        return ()
    needed = [*(card.node for card in cards), CONTROL, UVM, UVM_TOOLS]
    missing = [path for path in needed if path not in paths]
    if missing:
        raise Refused(
            f"cannot pass the GPUs: the node has no {', '.join(missing)}; "
            f"{BOOT_UNIT} makes them: run deploy.py for the node too, without gpu_nodes: False in "
            f"its node_settings, or look at journalctl -u {BOOT_UNIT} there"
        )
    if capabilities:
        needed += sorted(path for path in paths if path.startswith(CAPABILITIES))
    return tuple(Device(path, mode, gid) for path in needed)


def _every(cards: Sequence[Card]) -> tuple[Card, ...]:
    ours = [card for card in cards if card.driver != "vfio-pci"]
    if not ours:
        raise Refused(f"cannot pass all GPUs: {_there(cards)}; give one to NVIDIA's driver")
    return chosen([card.bdf for card in ours], cards)


def _one(name: str, cards: Sequence[Card]) -> Card:
    card = next((card for card in cards if name in (card.uuid, card.bdf)), None)
    if card is None:
        raise Refused(f"cannot pass GPU {name}: {_there(cards)}; {_instead(name, cards)}")
    if card.driver == "vfio-pci":
        raise Refused(
            f"cannot pass GPU {name}: vfio-pci has {card.bdf}, so it is for a VM; take it out of "
            "the VM and give it to NVIDIA's driver, or name another"
        )
    if card.driver != DRIVER or card.minor is None:
        raise Refused(
            f"cannot pass GPU {name}: {card.bdf} has no device node, since "
            f"{_why_none(card)}; see dmesg | grep NVRM on the node, or name the others"
        )
    return card


def _instead(name: str, cards: Sequence[Card]) -> str:
    """What to do where no GPU is known by that name. Without persistence the driver knows a GPU's
    UUID only once something has opened it."""
    closed = any(card.driver == DRIVER and not card.uuid for card in cards)
    if name.startswith("GPU-") and closed:
        return (
            "run nvidia-smi -L on the node, which opens each, and run again, or name one of these"
        )
    return "name one of these"


def _there(cards: Sequence[Card]) -> str:
    if not cards:
        return "the node has no NVIDIA GPU"
    return f"the node has {', '.join(map(str, cards))}"


def _state(card: Card) -> str:
    if card.driver == DRIVER and card.minor is not None:
        return ""
    return f" ({_why_none(card)})"


def _why_none(card: Card) -> str:
    if card.driver == DRIVER:
        return "the driver did not take it"
    return f"its driver is {card.driver}" if card.driver else "it has no driver"
