"""The API as the way to a node's containers, with `pct` for what only root may."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stoker.proxmox import refusals, tasks
from stoker.proxmox.api import Session
from stoker.proxmox.backend import CREATE_S, START_S, VOLUME_S, Warnings
from stoker.proxmox.errors import AlreadySo, ProxmoxError
from stoker.proxmox.pct import Pct, stopping
from stoker.proxmox.rights import root_only, root_only_keys
from stoker.proxmox.until import until

_BEFORE = "what needs no root was done before that"


@dataclass(frozen=True)
class ByApi:
    """Containers of `node`, as it is called in the cluster. `pct`: that node's, as root."""

    session: Session
    node: str
    pct: Pct

    @property
    def name(self) -> str:
        """`token` or `ticket`."""
        return self.session.access.backend

    @property
    def is_root(self) -> bool:
        """Whether it needs no `pct`."""
        return self.session.access.is_root

    def create(self, vmid: int, options: Mapping[str, str]) -> Warnings:
        """The task vzcreate; what is root's right after it."""
        rest, root = root_only(options, creating=True)
        if self.is_root:
            rest, root = dict(options), {}
        asked = f"create CT {vmid} on {self.node}"
        warned = self._task("POST", "", {"vmid": str(vmid), **rest}, asked, CREATE_S)
        return warned + replace(self.pct, so_far=_BEFORE).set(vmid, root)

    def set(
        self,
        vmid: int,
        options: Mapping[str, str],
        delete: Sequence[str] = (),
        digest: str = "",
        revert: Sequence[str] = (),
    ) -> Warnings:
        """Done at once. The digest guards the first of the two halves; the second follows it."""
        rest, root = root_only(options)
        (gone, root_gone), (back, root_back) = root_only_keys(delete), root_only_keys(revert)
        if self.is_root:
            rest, gone, back = dict(options), tuple(delete), tuple(revert)
            root, root_gone, root_back = {}, (), ()
        if (root or root_gone) and "protection" in rest:
            # Before the other half it would keep that one's mounts out.
            root["protection"] = rest.pop("protection")
        lists = {"delete": ",".join(gone), "revert": ",".join(back)}
        given = {**rest, **{key: value for key, value in lists.items() if value}}
        if not given:
            return self.pct.set(vmid, root, root_gone, digest, root_back)
        guard = {"digest": digest} if digest else {}
        asked = f"change CT {vmid} on {self.node}"
        self._call("PUT", f"/{vmid}/config", {**given, **guard}, asked)
        return replace(self.pct, so_far=_BEFORE).set(vmid, root, root_gone, "", root_back)

    def resize(self, vmid: int, disk: str, size: str) -> Warnings:
        """The task resize."""
        asked = f"grow {disk} of CT {vmid} on {self.node} to {size}"
        return self._task("PUT", f"/{vmid}/resize", {"disk": disk, "size": size}, asked, VOLUME_S)

    def start(self, vmid: int) -> Warnings:
        """The task vzstart; where the HA manager has it, its request."""
        return self._power(vmid, "start", {}, "running", START_S)

    def shutdown(self, vmid: int, timeout_s: int, force: bool) -> Warnings:
        """The task vzshutdown, which takes up to twice its limit where the guest does not obey."""
        limit_s = 2.0 * timeout_s + START_S
        return self._power(vmid, "shutdown", stopping(timeout_s, force), "stopped", limit_s)

    def snapshot(self, vmid: int, name: str, description: str) -> Warnings:
        """The task vzsnapshot."""
        told = {"description": description} if description else {}
        params = {"snapname": name, **told}
        asked = f"take snapshot {name} of CT {vmid} on {self.node}"
        return self._task("POST", f"/{vmid}/snapshot", params, asked, VOLUME_S)

    def delete_snapshot(self, vmid: int, name: str) -> Warnings:
        """The task vzdelsnapshot."""
        asked = f"delete snapshot {name} of CT {vmid} on {self.node}"
        return self._task("DELETE", f"/{vmid}/snapshot/{name}", {}, asked, VOLUME_S)

    def _power(
        self, vmid: int, verb: str, params: Mapping[str, str], state: str, limit_s: float
    ) -> Warnings:
        asked = f"{'shut down' if verb == 'shutdown' else verb} CT {vmid} on {self.node}"
        try:
            upid = self._call("POST", f"/{vmid}/status/{verb}", params, asked)
            warned = self._ended(upid, asked, limit_s)
        except AlreadySo:
            return ()
        if tasks.kind(upid).startswith("ha"):
            look = f"pvesh get /nodes/{self.node}/lxc/{vmid}/status/current"
            ways = self.session.sleep, self.session.clock
            until(lambda: self._is(vmid, state), asked, look, tasks.pauses(), *ways)
        return warned

    def _is(self, vmid: int, state: str) -> bool:
        try:
            return bool(self._call("GET", f"/{vmid}/status/current", {}, "")["status"] == state)
        except ProxmoxError:  # asked again until the limit, which then says that it is not known
            return False

    def _task(
        self, method: str, path: str, params: Mapping[str, str], asked: str, limit_s: float
    ) -> Warnings:
        return self._ended(self._call(method, path, params, asked), asked, limit_s)

    def _ended(self, upid: Any, asked: str, limit_s: float) -> Warnings:
        if not tasks.is_upid(upid):
            look = f"pvesh get /nodes/{self.node}/tasks"
            raise refusals.unknown(asked, f"Proxmox began no task; look there: {look}")
        return self.session.task(upid, asked, limit_s)

    def _call(self, method: str, path: str, params: Mapping[str, str], asked: str) -> Any:
        needs = f"VM.Allocate on /vms/{params['vmid']} or its pool" if not path else ""
        return self.session.call(method, f"nodes/{self.node}/lxc{path}", params, asked, needs)
