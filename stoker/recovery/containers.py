"""The containers of this node: Proxmox's configuration, and what the kernel has of them.

Proxmox keeps its configuration in a file system of its own, which can hang with its cluster; and
what is below a container's root may lie on a dead mount. Both are read with a deadline.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import Iterable, Mapping

from stoker.health import conf, passthrough
from stoker.health.passthrough import Passthrough
from stoker.health.seen import Container
from stoker.recovery import cgroup, files, in_time, libraries
from stoker.recovery.cards import Card
from stoker.recovery.cgroup import Group
from stoker.recovery.machine import Machine

_BUDGET_S = 2.0
_CONFIGURED_S, _PATIENCE_S = 6.0, 3.0
"""For Proxmox's configuration. A container that only a busy node did not tell of in time would be
taken for one that is gone, and its recovery be given up."""
_MANAGED = re.compile(r"^ct:[ \t]*(\d+)[ \t]*$((?:\n[ \t]+.*$)*)", re.MULTILINE)


@dataclass(frozen=True)
class Against:
    """The node's side, which the configurations are held against."""

    cards: tuple[Card, ...]
    """By PCI address."""
    uuids: Mapping[int, str]
    """By minor; a GPU without a known UUID is not there."""
    majors: Mapping[str, int]
    version: str
    """Of the loaded module; empty: none."""

    @property
    def minors(self) -> tuple[int, ...]:
        """Of all GPUs that the driver has, by PCI address."""
        return tuple(card.minor for card in self.cards if card.minor is not None)


@dataclass(frozen=True)
class _One:
    """One container, half understood."""

    keys: Mapping[str, str]
    passed: Passthrough
    group: Group
    minors: tuple[int, ...]


def seen(machine: Machine, node: Against) -> tuple[Container, ...]:
    """All of them by VMID; none if Proxmox's configuration does not answer."""
    texts, managed = _configurations(machine)
    passed = {vmid: passthrough.parse(text) for vmid, text in texts.items()}
    numbers = _numbers(machine, {path for one in passed.values() for path in one.paths})
    found = {
        vmid: _One(
            keys=conf.live(text).keys,
            passed=passed[vmid],
            group=cgroup.seen(machine, vmid),
            minors=tuple(passed[vmid].gpu_minors(node.minors, numbers)),
        )
        for vmid, text in sorted(texts.items())
    }
    wrong = _wrong_libraries(machine, node, found)
    return tuple(
        _container(vmid, one, node, managed, (*_problems(vmid, found, numbers, node), *wrong[vmid]))
        for vmid, one in found.items()
    )


def _container(
    vmid: int, one: _One, node: Against, managed: frozenset[int] | None, problems: tuple[str, ...]
) -> Container:
    ordered = [minor for minor in node.minors if minor in one.minors]
    return Container(
        vmid=vmid,
        name=one.keys.get("hostname", ""),
        state=one.group.state,
        init_pid=one.group.init_pid,
        lock=one.keys.get("lock", ""),
        template=one.keys.get("template") == "1",
        unprivileged=one.passed.unprivileged,
        ha=None if managed is None else vmid in managed,
        gpus=tuple(node.uuids[minor] for minor in ordered if minor in node.uuids),
        raw=one.passed.raw,
        problems=problems,
        nodes=tuple(path for path in one.passed.paths if path.startswith("/dev/nvidia")),
    )


def _problems(
    vmid: int,
    found: Mapping[int, _One],
    numbers: Mapping[str, tuple[int, int]],
    node: Against,
) -> tuple[str, ...]:
    others = {other: one.minors for other, one in found.items() if other != vmid}
    return passthrough.problems(found[vmid].passed, numbers, node.minors, node.majors, others)


def _configurations(machine: Machine) -> tuple[dict[int, str], frozenset[int] | None]:
    """The text of each container's configuration by VMID, and the VMIDs that HA manages.

    HA's are None if they cannot be told.
    """
    name = os.uname().nodename.split(".")[0]
    budget = in_time.Budget(_CONFIGURED_S)
    folders = [f"{machine.pve}/lxc", f"{machine.pve}/nodes/{name}/lxc"]
    listed = in_time.answers(files.names, [machine.pve, *folders], budget, _PATIENCE_S)
    folder = next((folder for folder in folders if listed.get(folder)), "")
    names = [name for name in listed.get(folder, ()) if re.fullmatch(r"[1-9]\d*\.conf", name)]
    paths = {f"{folder}/{name}": int(name[:-5]) for name in names}
    resources = f"{machine.pve}/ha/resources.cfg"
    texts = in_time.answers(files.text, [*paths, resources], budget, _PATIENCE_S)
    told = resources in texts and bool(listed.get(machine.pve))
    return (
        {paths[path]: text for path, text in texts.items() if path in paths and text},
        _managed(texts[resources]) if told else None,
    )


def _managed(resources: str) -> frozenset[int]:
    """VMIDs of containers that HA starts and stops, by its configuration."""
    found = _MANAGED.findall(resources)
    return frozenset(int(vmid) for vmid, rest in found if "state ignored" not in rest)


def _numbers(machine: Machine, paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Major and minor of those paths that are device nodes of the node."""
    found = {}
    for path in paths:
        try:
            status = os.stat(machine.dev + path[len("/dev") :])
        except OSError:
            continue
        if stat.S_ISCHR(status.st_mode):
            found[path] = os.major(status.st_rdev), os.minor(status.st_rdev)
    return found


def _wrong_libraries(
    machine: Machine, node: Against, found: Mapping[int, _One]
) -> dict[int, tuple[str, ...]]:
    """Sentences on driver libraries of another version than the kernel's module, by VMID."""
    roots = {
        vmid: f"{machine.proc}/{one.group.init_pid}/root"
        for vmid, one in found.items()
        if one.group.init_pid and one.minors and node.version
    }
    told = in_time.answers(libraries.versions, roots.values(), in_time.Budget(_BUDGET_S))
    return {vmid: tuple(_wrong(told.get(roots.get(vmid, ""), {}), node.version)) for vmid in found}


def _wrong(versions: Mapping[str, list[str]], module: str) -> list[str]:
    sentences = []
    for library, there in versions.items():
        if len(there) > 1:
            sentences.append(
                f"{library}: versions {' and '.join(there)} lie beside each other, half an "
                f"upgrade; leave only {module}, the version of the kernel's module"
            )
        elif there != [module]:
            sentences.append(
                f"{library}: version {there[0]} does not fit the kernel's module, {module}; "
                "install the module's version in the container"
            )
    return sentences
