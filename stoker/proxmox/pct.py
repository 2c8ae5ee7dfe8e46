"""`pct` as root on a node: the backend that needs nothing but its ssh.

`run` is given words and a limit in seconds, and brings the exit code and both outputs. The exit
code of a failed `pct` is whatever errno was left, so only its being 0 says something; and where
it is 0, standard error may hold text all the same. What a task prints comes on standard output.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stoker.proxmox import refusals, said
from stoker.proxmox.backend import CREATE_S, SET_S, START_S, VOLUME_S, Warnings
from stoker.proxmox.errors import AlreadySo, ProxmoxError, TaskFailed
from stoker.proxmox.said import Ran
from stoker.proxmox.tasks import pauses
from stoker.proxmox.until import until

_HA = "Requesting HA"
_SELDOM = (1.0, 5.0)  # seconds between two looks: a pct costs the node 0.7 s of CPU

Run = Callable[[Sequence[str], float | None], Ran]


@dataclass(frozen=True)
class Pct:
    """Containers of the node that `run` runs on; `node` names it in sentences."""

    run: Run
    node: str = "its node"
    so_far: str = refusals.NOTHING
    name: str = "ssh"
    is_root: bool = True
    sleep: Callable[[float], None] = time.sleep

    def create(self, vmid: int, options: Mapping[str, str]) -> Warnings:
        """`pct create`; the template is a word of its own."""
        given = {key: value for key, value in options.items() if key != "ostemplate"}
        words = ["create", str(vmid), options["ostemplate"], *_options(given)]
        return self._done(f"create CT {vmid}", words, CREATE_S)

    def set(
        self,
        vmid: int,
        options: Mapping[str, str],
        delete: Sequence[str] = (),
        digest: str = "",
        revert: Sequence[str] = (),
    ) -> Warnings:
        """`pct set`; nothing where there is nothing to change, which Proxmox calls an error."""
        lists = {"delete": ",".join(delete), "revert": ",".join(revert)}
        given = {**options, **{key: value for key, value in lists.items() if value}}
        if not given:
            return ()
        guard = {"digest": digest} if digest else {}
        words = ["set", str(vmid), *_options({**given, **guard})]
        return self._done(f"change CT {vmid}", words, SET_S, ProxmoxError)

    def resize(self, vmid: int, disk: str, size: str) -> Warnings:
        """`pct resize`."""
        words = ["resize", str(vmid), disk, size]
        return self._done(f"grow {disk} of CT {vmid} to {size}", words, VOLUME_S)

    def start(self, vmid: int) -> Warnings:
        """`pct start`; where the HA manager has it, that only asks for it."""
        return self._power(vmid, f"start CT {vmid}", ["start", str(vmid)], "running", START_S)

    def shutdown(self, vmid: int, timeout_s: int, force: bool) -> Warnings:
        """`pct shutdown`, which takes up to twice its limit where the guest does not obey."""
        words = ["shutdown", str(vmid), *_options(stopping(timeout_s, force))]
        limit_s = 2.0 * timeout_s + START_S
        return self._power(vmid, f"shut down CT {vmid}", words, "stopped", limit_s)

    def snapshot(self, vmid: int, name: str, description: str) -> Warnings:
        """`pct snapshot`."""
        told = {"description": description} if description else {}
        words = ["snapshot", str(vmid), name, *_options(told)]
        return self._done(f"take snapshot {name} of CT {vmid}", words, VOLUME_S)

    def delete_snapshot(self, vmid: int, name: str) -> Warnings:
        """`pct delsnapshot`."""
        words = ["delsnapshot", str(vmid), name]
        return self._done(f"delete snapshot {name} of CT {vmid}", words, VOLUME_S)

    def _power(
        self, vmid: int, asked: str, words: Sequence[str], state: str, limit_s: float
    ) -> Warnings:
        try:
            ran = self._ran(asked, words, limit_s)
        except AlreadySo:
            return ()
        if _HA in said.text(ran.stdout):
            look = f"pct status {vmid} on {self.node}"
            asked = f"{asked} on {self.node}"
            until(lambda: self._is(vmid, state), asked, look, pauses(*_SELDOM), self.sleep)
        return said.warnings(ran)

    def _is(self, vmid: int, state: str) -> bool:
        ran = self.run(_words(["status", str(vmid)]), SET_S)
        return said.text(ran.stdout).strip() == f"status: {state}"

    def _done(
        self,
        asked: str,
        words: Sequence[str],
        limit_s: float,
        otherwise: type[ProxmoxError] = TaskFailed,
    ) -> Warnings:
        return said.warnings(self._ran(asked, words, limit_s, otherwise))

    def _ran(
        self,
        asked: str,
        words: Sequence[str],
        limit_s: float,
        otherwise: type[ProxmoxError] = TaskFailed,
    ) -> Ran:
        asked = f"{asked} on {self.node}"
        try:
            ran = self.run(_words(words), limit_s)
        except TimeoutError as error:
            raise refusals.unknown(asked, f"{error}; look at the node's tasks") from None
        if ran.code == 0:
            return ran
        lines = said.lines(ran.stdout)
        why = "\n".join(said.complaints(ran.stderr)) or "\n".join(lines[-1:])
        shown = f", its last lines: {refusals.one_line(' | '.join(lines[-3:]))}" if lines else ""
        so_far = "its task ended so" if otherwise is TaskFailed else self.so_far
        raise refusals.error(why, asked, otherwise, f"{so_far}{shown}", wrote=True)


def stopping(timeout_s: int, force: bool) -> dict[str, str]:
    """The options of a shutdown, of the API and of `pct`."""
    return {"timeout": str(timeout_s), "forceStop": "1" if force else "0"}


def _words(words: Sequence[str]) -> list[str]:
    """In English, whatever locale ssh brings along."""
    return ["env", "LC_ALL=C", "pct", *words]


def _options(options: Mapping[str, str]) -> list[str]:
    """One word each: a value that begins with a dash is still a value."""
    return [f"--{key}={value}" for key, value in options.items()]
