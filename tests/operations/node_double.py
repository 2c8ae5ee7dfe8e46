"""A Proxmox node in memory: containers that are made, changed and started as Proxmox does it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from stoker.container.configuration import parse
from stoker.container.version import Version
from stoker.facts.proxmox_node import NodeLook
from stoker.facts.servers import AskedServers
from stoker.pct.errors import NoSuchContainer, Stopped
from stoker.proxmox.errors import Changed, Locked, ProxmoxError
from tests.container.cards import CARDS, MAJORS, NUMBERS
from tests.operations.hosts import FakeHost

PVE9 = Version((6, 1, 10))


class Killed(BaseException):
    """The run ends here, as by kill -9."""


@dataclass
class Ct:
    """One container's file."""

    keys: dict[str, str]
    pending: dict[str, str] = field(default_factory=dict)
    deletes: list[str] = field(default_factory=list)
    snapshots: dict[str, dict[str, str]] = field(default_factory=dict)
    raw: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        lines = [f"{key}: {value}" for key, value in self.keys.items()] + self.raw
        if self.pending or self.deletes:
            lines += [
                "[pve:pending]",
                *([f"delete: {','.join(self.deletes)}"] * bool(self.deletes)),
            ]
            lines += [f"{key}: {value}" for key, value in self.pending.items()]
        for name, keys in self.snapshots.items():
            lines += [f"[{name}]", *(f"{key}: {value}" for key, value in keys.items())]
        return "".join(f"{line}\n" for line in lines)

    def settle(self) -> None:
        """What a start does with pending changes."""
        for key in self.deletes:
            self.keys.pop(key, None)
        self.keys |= self.pending
        self.pending, self.deletes = {}, []


class NodeDouble:
    """Is the backend too. `acts`: what was asked of it, in order."""

    name, is_root = "ssh", True

    def __init__(self, **cts: Ct) -> None:
        self.cts = {int(name.removeprefix("ct")): ct for name, ct in cts.items()}
        self.running: set[int] = set()
        self.acts: list[str] = []
        self.looks = 0
        self.version = PVE9
        self.elsewhere: dict[int, str] = {}
        self.quorate = True
        self.missing: tuple[str, ...] = ()
        self.kill_before: int | None = None
        """Number of the act before which the run is killed."""
        self.fail: dict[str, Exception] = {}
        self.storages = ""
        self.look_hook: Callable[[], Any] = lambda: None
        """What happens right before a look."""
        self.noted: set[int] = set()
        """Stopped for a change."""
        self.at_work = 0
        """How often the creation is still seen at work."""

    # What the look and the connector see.

    def look(self, run: Any) -> NodeLook:
        self.looks += 1
        self.look_hook()
        return NodeLook(
            name="pve1",
            version=self.version,
            cards=CARDS,
            numbers=NUMBERS,
            majors=MAJORS,
            texts={vmid: ct.text for vmid, ct in self.cts.items()},
            running=frozenset(self.running),
            restarting=frozenset(self.noted),
            elsewhere=self.elsewhere,
            quorate=self.quorate,
            missing=self.missing,
        )

    facts = {"node": "pve1.lab"}  # noqa: RUF012

    def run(self, command: Any, vmid: int | None = None, stdin: Any = None, **_: Any) -> Any:
        if stdin is not None:
            self._begin(f"rewrite {command[-2]}")
            self.cts[int(command[-2])] = Ct(dict(parse(stdin.read().decode()).keys))
        elif vmid is not None:
            if vmid not in self.cts:
                raise NoSuchContainer("none")
            if vmid not in self.running:
                raise Stopped("stopped")
        elif command[0] == "rm":
            self.noted.discard(int(command[-1].rpartition("/")[2]))
        elif "mkdir" in str(command):
            self.noted.add(int(command[-1].rpartition("/")[2]))
        elif command[0] == "cat":
            return SimpleNamespace(code=0, stdout=self.storages.encode(), stderr=b"")
        elif "cmdline" in str(command):
            self.at_work -= 1
            if self.at_work == 0:
                for ct in self.cts.values():
                    ct.keys.pop("lock", None)
            return SimpleNamespace(code=0 if self.at_work > 0 else 1, stdout=b"", stderr=b"")
        return SimpleNamespace(code=0, stdout=b"", stderr=b"")

    # The backend.

    def create(self, vmid: int, options: Mapping[str, str]) -> tuple[str, ...]:
        self._begin(f"create {vmid}")
        made = {k: v for k, v in options.items() if k not in ("ostemplate", "storage", "pool")}
        storage, _, size = made["rootfs"].partition(":")
        made["rootfs"] = f"{storage}:vm-{vmid}-disk-0,size={size}G"
        for key in [key for key in made if key.startswith("net")]:
            made[key] = f"{made[key]},hwaddr=BC:24:11:00:00:01,type=veth"
        self.cts[vmid] = Ct(made)
        return ()

    def set(
        self,
        vmid: int,
        options: Mapping[str, str],
        delete: Sequence[str] = (),
        digest: str = "",
        revert: Sequence[str] = (),
    ) -> tuple[str, ...]:
        words = [*options, *(f"-{key}" for key in delete), *(["revert"] if revert else [])]
        self._begin(" ".join(["set", str(vmid), *words]))
        ct = self._unlocked(vmid)
        if digest and digest != hashlib.sha1(ct.text.encode()).hexdigest():
            raise Changed("cannot change CT: somebody changed it")
        for key in revert:
            ct.pending.pop(key, None)
        mounted = [key for key in (*options, *delete) if key.startswith("mp")]
        if mounted and ct.keys.get("protection") == "1":
            raise ProxmoxError(f"cannot: can't update CT {vmid} drive, protection mode enabled")
        for key, value in options.items():
            waits = vmid in self.running and self._waits(key, ct)
            (ct.pending if waits else ct.keys)[key] = value
        for key in delete:
            ct.pending.pop(key, None)
            if vmid in self.running:
                ct.deletes.append(key)
            else:
                ct.keys.pop(key, None)
        return ()

    def resize(self, vmid: int, disk: str, size: str) -> tuple[str, ...]:
        self._begin(f"resize {vmid} {disk} {size}")
        keys = self._unlocked(vmid).keys
        keys[disk] = f"{keys[disk].partition(',')[0]},size={size}"
        return ()

    def start(self, vmid: int) -> tuple[str, ...]:
        self._begin(f"start {vmid}")
        self._unlocked(vmid).settle()
        self.running.add(vmid)
        return ()

    def shutdown(self, vmid: int, timeout_s: int, force: bool) -> tuple[str, ...]:
        self._begin(f"shutdown {vmid}")
        self._unlocked(vmid)
        self.running.discard(vmid)
        return ()

    def snapshot(self, vmid: int, name: str, description: str) -> tuple[str, ...]:
        self._begin(f"snapshot {vmid} {','.join(sorted(self._binds(vmid)))}".strip())
        ct = self._unlocked(vmid)
        ct.snapshots[name] = dict(ct.keys)
        return ()

    def delete_snapshot(self, vmid: int, name: str) -> tuple[str, ...]:
        self._begin(f"delsnapshot {vmid} {name}")
        del self.cts[vmid].snapshots[name]
        return ()

    def _waits(self, key: str, ct: Ct) -> bool:
        """Whether a running container gets it with its next start only."""
        if key.startswith(("dev", "mp")):
            return key in ct.keys or (key.startswith("dev") and not self.version.plugs_devices)
        return key == "features"

    def _binds(self, vmid: int) -> list[str]:
        return [k for k, v in self.cts[vmid].keys.items() if k[:2] == "mp" and v.startswith("/")]

    def _begin(self, act: str) -> None:
        if self.kill_before is not None and len(self.acts) >= self.kill_before:
            raise Killed
        if error := self.fail.pop(act.split()[0], None):
            raise error
        self.acts.append(act)

    def _unlocked(self, vmid: int) -> Ct:
        ct = self.cts[vmid]
        if lock := ct.keys.get("lock"):
            raise Locked(f"cannot: it is locked ({lock})")
        return ct


class ContainerHost(FakeHost):
    """A container of such a node."""

    def __init__(self, node: NodeDouble, vmid: int = 200, facts: Any = None) -> None:
        super().__init__(facts or {})
        self.name = "gpu-a"
        self.held = 0
        self.connector = SimpleNamespace(node=node, vmid=vmid, hold=self._hold)
        self.stdout = "running"
        self.facts.setdefault(AskedServers, {})

    def _hold(self) -> None:
        self.held += 1
