"""What is to be done so that a container becomes what it should be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stoker.container import device_keys, mounts, network, plain, property_string, slots, standing
from stoker.container.change import Change, Effect
from stoker.container.configuration import Configuration
from stoker.container.devices import Device
from stoker.container.property_string import Edit
from stoker.container.settling import Settling
from stoker.container.version import Version
from stoker.container.wanted import Wanted
from stoker.refused import Refused

__all__ = ["Change", "Difference", "Effect", "between"]


@dataclass(frozen=True)
class Difference:
    """Between what is wanted and what is. First `reverts`, in a call of its own (a key that is both
    changed and deleted keeps the changed value, as measured), then `options` with `deletes`, then
    `growths`."""

    changes: tuple[Change, ...] = ()
    told: tuple[str, ...] = ()
    """What differs and is not changed, a sentence each."""
    waiting: tuple[Change, ...] = ()
    """What is wanted and set already, and comes with the next start."""
    growths: tuple[tuple[str, str], ...] = ()
    """Volume (`rootfs`, `mp0`) and its new size, `64G`."""

    @property
    def options(self) -> dict[str, str]:
        """Key -> value to set."""
        return {c.key: c.after for c in self.changes if c.after is not None and not c.reverted}

    @property
    def deletes(self) -> tuple[str, ...]:
        """Keys to delete."""
        return tuple(c.key for c in self.changes if c.after is None and not c.reverted)

    @property
    def reverts(self) -> tuple[str, ...]:
        """Keys whose pending change is to be taken back before anything else."""
        return tuple(c.key for c in self.changes if c.reverted)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to set; a restart may still be due."""
        return not self.changes and not self.growths


def between(
    wanted: Wanted,
    devices: Sequence[Device],
    actual: Configuration,
    version: Version,
    running: bool,
) -> Difference:
    """`devices`: the nodes that `wanted.gpus` come to on this node, without those that raw lxc
    lines pass and go on to pass; not looked at where no GPUs are said. Raises `Refused` for what
    cannot be."""
    if wanted.gpus is None:
        devices = ()
    there = (actual.keys, actual.pending)
    _require_possible(wanted, devices, there, version)
    edits: dict[str, Edit] = {
        **plain.edits(wanted),
        **network.edits(wanted.networks, there),
        **mounts.edits(wanted.mounts, there),
    }
    if wanted.gpus is not None:
        edits |= device_keys.edits(devices, there, wanted.says_mode)
    settling = Settling(actual, version, running)
    for key, edit in edits.items():
        settling.settle(key, edit)
    # No device although GPUs are wanted: who knows which ones are not.
    sure = devices or wanted.gpus == ()
    stale = device_keys.stale(devices, there, edits) if sure else []
    for key in stale:
        settling.remove(key)
    _require_unprotected(actual, settling.changes)
    return Difference(
        changes=_in_order(settling.changes),
        told=(*standing.told(wanted, actual), *standing.foreign(actual, {*edits, *stale})),
        waiting=_in_order(settling.waiting),
        growths=tuple(standing.growths(wanted, actual).items()),
    )


def _require_possible(
    wanted: Wanted, devices: Sequence[Device], there: Sequence[Mapping[str, str]], version: Version
) -> None:
    lacking = [*network.lacking(wanted.networks, there), *mounts.lacking(wanted.mounts, there)]
    if devices and not version.has_devices:
        lacking.append(
            f"container.gpus: pve-container {version} has no devN, which came with 5.0.7 "
            "(Proxmox VE 8.1); update the node"
        )
    if lacking:
        raise Refused("\n".join(["cannot make the container what is wanted:", *lacking]))


def _require_unprotected(actual: Configuration, changes: Sequence[Change]) -> None:
    """Proxmox changes no mount of a protected container, whatever the same call says of that."""
    mounted = [c.key for c in changes if slots.stem_of(c.key) == "mp" and not c.reverted]
    if mounted and property_string.truth(actual.keys.get("protection")):
        raise Refused(
            f"cannot change {', '.join(mounted)}: the container is protected; run once with "
            "protection: False and without the new mounts, then with them"
        )


def _in_order(changes: Sequence[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda change: slots.order(change.key)))
