"""`pct` as root on a node: the backend that needs nothing but its ssh.

`run` is given words and a limit in seconds, and brings the exit code and both outputs. The exit
code of a failed `pct` is whatever errno was left, so only its being 0 says something; and where
it is 0, standard error may hold text all the same. What a task prints comes on standard output.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from stoker.proxmox import refusals
from stoker.proxmox.backend import CREATE_S, HA_S, SET_S, START_S, VOLUME_S, Warnings
from stoker.proxmox.errors import AlreadySo, ProxmoxError, TaskFailed, TaskUnknown
from stoker.proxmox.until import until

_LOCALE = re.compile(
    r"perl: warning:|\s+(LANG|LC_)\w* = |\s+are supported and installed|.*setlocale"
)
_USAGE = re.compile(r"(USAGE: )?pct \w+ .*[<\[]")
_HA = "Requesting HA"


class Ran(Protocol):
    """How a command ended."""

    @property
    def code(self) -> int: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...


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
        words = ["snapshot", str(vmid), name, *_options({"description": description})]
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
        if _HA in _text(ran.stdout):
            look = f"pct status {vmid} on {self.node}"
            until(lambda: self._is(vmid, state), f"{asked} on {self.node}", look, HA_S, self.sleep)
        return _warnings(ran)

    def _is(self, vmid: int, state: str) -> bool:
        said = self.run(_words(["status", str(vmid)]), SET_S)
        return _text(said.stdout).strip() == f"status: {state}"

    def _done(
        self,
        asked: str,
        words: Sequence[str],
        limit_s: float,
        otherwise: type[ProxmoxError] = TaskFailed,
    ) -> Warnings:
        return _warnings(self._ran(asked, words, limit_s, otherwise))

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
            raise TaskUnknown(
                f"cannot tell how it ended to {asked}: {error}; look at the node's tasks"
            ) from None
        if ran.code == 0:
            return ran
        lines = _lines(ran.stdout)
        said = "\n".join(_complaints(ran.stderr)) or "\n".join(lines[-1:])
        shown = f", its last lines: {refusals.one_line(' | '.join(lines[-3:]))}" if lines else ""
        raise refusals.error(said, asked, otherwise, f"{self.so_far}{shown}")


def stopping(timeout_s: int, force: bool) -> dict[str, str]:
    """The options of a shutdown, of the API and of `pct`."""
    return {"timeout": str(timeout_s), "forceStop": "1" if force else "0"}


def _words(words: Sequence[str]) -> list[str]:
    """In English, whatever locale ssh brings along."""
    return ["env", "LC_ALL=C", "pct", *words]


def _options(options: Mapping[str, str]) -> list[str]:
    """One word each: a value that begins with a dash is still a value."""
    return [f"--{key}={value}" for key, value in options.items()]


def _warnings(ran: Ran) -> Warnings:
    warned = [line for line in _lines(ran.stdout) if line.lower().startswith("warn")]
    return (*warned, *_complaints(ran.stderr))


def _complaints(stderr: bytes) -> list[str]:
    """Of standard error what is about the work: nothing of Perl's locale, no usage."""
    return [
        line.strip()
        for line in _text(stderr).splitlines()
        if line.strip() and not _LOCALE.match(line) and not _USAGE.match(line)
    ]


def _lines(output: bytes) -> list[str]:
    return [line.strip() for line in _text(output).splitlines() if line.strip()]


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")
