"""Stand-in: `pct push` and `pct pull`, with the real ones' flaw: a failed copy still exits with 0.

Not atomic: the destination is opened with truncation and then written. A read or write that fails
in the middle (a full disk, a directory as source) is not even mentioned.
"""

from __future__ import annotations

import grp
import os
import pwd
import re
import sys
from typing import Callable, NamedTuple, Optional

from . import mapped, running, store
from .command import Request
from .died import Died


class Rights(NamedTuple):
    """What the copy gets; None leaves what a new or an existing file has of itself."""

    mode: Optional[int]
    uid: Optional[int]
    gid: Optional[int]


def push(request: Request) -> int:
    """Copy a file of the node into a running container."""
    if not running.is_running(request.vmid):
        raise Died("can only push files to a running CT")
    return _as_task(request.vmid, lambda shift, root: _push(request, shift, root))


def pull(request: Request) -> int:
    """Copy a file of a running container to the node."""
    if not running.is_running(request.vmid):
        place = "/usr/share/perl5/PVE/CLI/pct.pm line 664."
        raise Died(f"can only pull files from a running VM at {place}")
    return _as_task(request.vmid, lambda shift, root: _pull(request, shift, root))


def _as_task(vmid: int, copy: Callable[[int, str], None]) -> int:
    config = store.load(vmid)
    with store.locked(vmid):
        try:
            copy(mapped.shift_of(config.now.keys), f"/proc/{running.init_pid(vmid)}/root")
        except Died as died:
            print(died.text, file=sys.stderr)
    return 0


def _push(request: Request, shift: int, root: str) -> None:
    file, target = request.values["file"], request.values["destination"]
    mode = parse_mode(request.values.get("perms"))
    try:
        source = os.open(file, os.O_RDONLY)
    except OSError:
        raise Died(f"failed to open {file} for reading") from None

    def inside() -> int:
        try:
            owner = _Owner("/etc/passwd", "/etc/group", shift)
            rights = Rights(mode, owner.uid(request), owner.gid(request))
            os.setegid(shift)
            os.seteuid(shift)
            descriptor = _create(os.path.join("/", target), rights)
            os.seteuid(shift)
            _copy(source, descriptor)
        except Died as died:
            print(died.text, file=sys.stderr)
        return 0

    mapped.in_root(root, 0, inside)
    os.close(source)


def _pull(request: Request, shift: int, root: str) -> None:
    path, target = request.values["path"], request.values["destination"]
    rights = Rights(parse_mode(request.values.get("perms")), _host_uid(request), _host_gid(request))
    descriptor = _create(target, rights)

    def inside() -> int:
        try:
            source = os.open(os.path.join("/", path), os.O_RDONLY)
        except OSError as error:
            print(f"failed to open {path}: {error.strerror}", file=sys.stderr)
            return 0
        _copy(source, descriptor)
        return 0

    mapped.in_root(root, shift, inside)
    os.close(descriptor)


def parse_mode(perms: Optional[str]) -> Optional[int]:
    """The mode of `--perms`: octal, or hexadecimal with 0x; None where there is none."""
    if perms is None:
        return None
    text = perms if perms.startswith("0") else f"0{perms}"
    if re.fullmatch("0[0-7]*", text):
        return int(text, 8)
    if re.fullmatch("0x[0-9a-fA-F]+", text):
        return int(text, 16)
    raise Died(f"invalid mode: '{text}'")


def _create(path: str, rights: Rights) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        descriptor = os.open(path, flags, 0o666 if rights.mode is None else rights.mode)
    except OSError as error:
        raise Died(f"failed to create file: {path}: {error.strerror}") from None
    if os.geteuid() != 0:
        os.seteuid(0)
    if rights.mode is not None:
        os.fchmod(descriptor, rights.mode)
    if rights.uid is not None or rights.gid is not None:
        os.fchown(descriptor, _or_same(rights.uid), _or_same(rights.gid))
    return descriptor


def _or_same(number: Optional[int]) -> int:
    return -1 if number is None else number


def _copy(source: int, target: int) -> None:
    try:
        while True:
            block = os.read(source, 1 << 16)
            if not block:
                break
            while block:
                block = block[os.write(target, block) :]
    except OSError:
        # PVE's copy() is unchecked: the file stays as short as it got.
        return


class _Owner:
    """Users and groups of the root this process has, read from its files."""

    def __init__(self, users: str, groups: str, shift: int) -> None:
        self.users, self.groups, self.shift = users, groups, shift

    def uid(self, request: Request) -> Optional[int]:
        return self._number(self.users, request.values.get("user"), "uid")

    def gid(self, request: Request) -> Optional[int]:
        return self._number(self.groups, request.values.get("group"), "gid")

    def _number(self, file: str, name: Optional[str], kind: str) -> Optional[int]:
        if name is None:
            return None
        if name.isdigit():
            return self.shift + int(name)
        if os.path.exists(file):
            with open(file, errors="replace") as lines:
                for fields in (line.split(":") for line in lines):
                    if fields[0] == name and len(fields) > 2:
                        return self.shift + int(fields[2])
        raise Died(f"failed to get {kind} for: {name}")


def _host_uid(request: Request) -> Optional[int]:
    name = request.values.get("user")
    if name is None or name.isdigit():
        return None if name is None else int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise Died(f"failed to get uid for: {name}") from None


def _host_gid(request: Request) -> Optional[int]:
    name = request.values.get("group")
    if name is None or name.isdigit():
        return None if name is None else int(name)
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise Died(f"failed to get gid for: {name}") from None
