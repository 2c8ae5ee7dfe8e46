"""Stand-in: who may do what: /etc/pve/user.cfg and priv/token.cfg in Proxmox's own formats.

Users, tokens, roles, access lists and pools. Groups, realms other than pam and pve, and two
factors are left out. A token with privilege separation may do what both its own entries and its
user's allow; one without may do what its user may, but it is never root@pam itself.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Dict, FrozenSet, Iterator, List, Set, Tuple
from urllib.parse import unquote

from . import cluster, store
from .privileges import ALL, NO_ACCESS, ROLES

ROOT_USER = "root@pam"


@dataclass
class Access:
    """Everything that user.cfg says."""

    users: Dict[str, bool] = field(default_factory=lambda: {ROOT_USER: True})
    """Name -> whether it is enabled."""
    tokens: Dict[str, bool] = field(default_factory=dict)
    """`user@realm!id` -> whether its privileges are separate."""
    roles: Dict[str, FrozenSet[str]] = field(default_factory=dict)
    acl: Dict[Tuple[str, str, str], bool] = field(default_factory=dict)
    """(path, user or token, role) -> whether it holds below the path too."""
    pools: Dict[str, Set[int]] = field(default_factory=dict)
    """Name -> VMIDs."""

    def privileges(self, who: str, path: str) -> FrozenSet[str]:
        """What a user or a token may do at a path."""
        user, mark, _token = who.partition("!")
        if who not in (self.tokens if mark else self.users):
            return frozenset()
        own = ALL if user == ROOT_USER else self._granted(user, path)
        if mark and self.tokens[who]:
            return own & self._granted(who, path)
        return own

    def _granted(self, who: str, path: str) -> FrozenSet[str]:
        roles = set(self._roles(who, path))
        guest = re.fullmatch(r"/vms/(\d+)", path)
        for name, vmids in self.pools.items():
            if guest and int(guest.group(1)) in vmids:
                roles |= set(self._roles(who, f"/pool/{name}"))
        if NO_ACCESS in roles:
            return frozenset()
        known = {**ROLES, **self.roles}
        return frozenset(one for role in roles for one in known.get(role, frozenset()))

    def _roles(self, who: str, path: str) -> List[str]:
        """Those of the longest part of the path that says anything of this user or token."""
        found: List[str] = []
        for prefix in _prefixes(path):
            here = [
                role
                for (at, whom, role), propagates in self.acl.items()
                if at == prefix and whom == who and (propagates or at == path)
            ]
            found = here or found
        return found

    def pool_of(self, vmid: int) -> str:
        """The pool of a guest, empty where it is in none."""
        return next((name for name, vmids in self.pools.items() if vmid in vmids), "")

    def forget(self, vmid: int) -> None:
        """A guest that is gone is in no pool and in no access list."""
        for vmids in self.pools.values():
            vmids.discard(vmid)
        self.acl = {key: value for key, value in self.acl.items() if key[0] != f"/vms/{vmid}"}


def _prefixes(path: str) -> Iterator[str]:
    yield "/"
    parts = [part for part in path.split("/") if part]
    for count in range(1, len(parts) + 1):
        yield "/" + "/".join(parts[:count])


def parse(text: str) -> Access:
    """The users, tokens, roles, lists and pools in a user.cfg; a line of another kind is left."""
    found = Access()
    for line in text.splitlines():
        kind, *rest = [unquote(part) for part in line.split(":")]
        rest += [""] * (6 - len(rest))
        if kind == "user":
            found.users[rest[0]] = rest[1] == "1"
        elif kind == "token":
            found.tokens[rest[0]] = rest[2] == "1"
        elif kind == "role":
            found.roles[rest[0]] = frozenset(_listed(rest[1]))
        elif kind == "pool":
            found.pools[rest[0]] = {int(vmid) for vmid in _listed(rest[2])}
        elif kind == "acl":
            for who in _listed(rest[2]):
                for role in _listed(rest[3]):
                    found.acl[rest[1], who, role] = rest[0] == "1"
    return found


def _listed(text: str) -> List[str]:
    return [word for word in re.split(r"[,; ]+", text) if word]


def render(access: Access) -> str:
    """The text of a user.cfg."""
    users = [f"user:{name}:{int(on)}:0::::::" for name, on in sorted(access.users.items())]
    tokens = [f"token:{name}:0:{int(sep)}::" for name, sep in sorted(access.tokens.items())]
    pools = [
        f"pool:{name}::{','.join(map(str, sorted(vmids)))}::"
        for name, vmids in sorted(access.pools.items())
    ]
    roles = [
        f"role:{name}:{','.join(sorted(access.roles[name]))}:" for name in sorted(access.roles)
    ]
    acl = [
        f"acl:{int(propagates)}:{path}:{who}:{role}:"
        for (path, who, role), propagates in sorted(access.acl.items())
    ]
    return "\n".join([*users, *tokens, "", "", *pools, "", *roles, "", *acl]) + "\n"


def file() -> str:
    """Where the cluster keeps it."""
    return f"{cluster.ROOT}/user.cfg"


def load() -> Access:
    """The cluster's; root alone where there is no file yet."""
    try:
        with open(file()) as stream:
            return parse(stream.read())
    except FileNotFoundError:
        return Access()


def save(access: Access) -> None:
    """Write it, whole or not at all."""
    store.put(file(), render(access), 0o640)


def secrets_file() -> str:
    """Where the cluster keeps the tokens' secrets."""
    return f"{cluster.ROOT}/priv/token.cfg"


def secrets() -> Dict[str, str]:
    """The secret of every token, by its full name."""
    if not os.path.exists(secrets_file()):
        return {}
    with open(secrets_file()) as stream:
        return dict(line.split() for line in stream if len(line.split()) == 2)


def save_secrets(wanted: Dict[str, str]) -> None:
    """Write them, readable by root alone."""
    lines = [f"{name} {secret}\n" for name, secret in sorted(wanted.items())]
    store.put(secrets_file(), "".join(lines), 0o600)
