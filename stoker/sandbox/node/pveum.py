"""Stand-in: the program `pveum`, as far as a deployment needs it: users, roles, lists, tokens.

pveum role add|modify NAME --privs "A B"      pveum role delete NAME
pveum user add|delete USER                    pveum pool add|delete NAME
pveum acl modify PATH --users|--tokens WHO --roles ROLE [--propagate 0|1]
pveum acl delete PATH --users|--tokens WHO --roles ROLE
pveum user token add USER ID [--privsep 0|1]  pveum user token remove|list USER [ID]
"""

from __future__ import annotations

import json
import sys
import uuid
from typing import Callable, Dict, List, Sequence

from . import access, getopt, privileges, property_string, store, table
from .died import BadParameters, BadRequest, Died

Options = Dict[str, str]
OPTIONS = (
    *("privs", "append", "users", "tokens", "roles", "propagate", "privsep", "comment"),
    *("password", "expire", "output-format"),
)


def main(words: Sequence[str]) -> int:
    """The exit code of `pveum WORDS...`."""
    try:
        store.require_cluster()
        given, rest = getopt.parse(words, dict.fromkeys(OPTIONS, False))
        options = {name: values[-1] for name, values in given.items()}
        act(rest, options)
    except Died as died:
        sys.stdout.flush()
        print(died.text, file=sys.stderr)
        return died.code
    return 0


def act(words: List[str], options: Options) -> None:
    """Do one of the commands; the long ones first."""
    for name in sorted(COMMANDS, key=len, reverse=True):
        head = name.split()
        if words[: len(head)] == head:
            COMMANDS[name](words[len(head) :], options)
            return
    raise Died(f"ERROR: unknown command 'pveum {' '.join(words[:2])}'")


def _arguments(words: List[str], count: int) -> List[str]:
    if len(words) != count:
        raise BadRequest(
            "not enough arguments" if len(words) < count else "too many arguments", 255
        )
    return words


def _privileges(text: str) -> "frozenset[str]":
    wanted = frozenset(text.replace(",", " ").split())
    unknown = sorted(wanted - privileges.ALL)
    if unknown:
        raise BadParameters({"privs": f"invalid format - invalid privilege '{unknown[0]}'"})
    return wanted


def _role_add(words: List[str], options: Options) -> None:
    name = _arguments(words, 1)[0]
    found = access.load()
    if name in found.roles or name in privileges.ROLES:
        raise Died(f"role '{name}' already exists")
    found.roles[name] = _privileges(options.get("privs", ""))
    access.save(found)


def _role_modify(words: List[str], options: Options) -> None:
    name = _arguments(words, 1)[0]
    found = access.load()
    if name not in found.roles:
        raise Died(f"role '{name}' does not exist")
    before = found.roles[name] if property_string.truth(options.get("append")) else frozenset()
    found.roles[name] = before | _privileges(options.get("privs", ""))
    access.save(found)


def _role_delete(words: List[str], _options: Options) -> None:
    name = _arguments(words, 1)[0]
    found = access.load()
    if found.roles.pop(name, None) is None:
        raise Died(f"role '{name}' does not exist")
    found.acl = {key: value for key, value in found.acl.items() if key[2] != name}
    access.save(found)


def _user_add(words: List[str], _options: Options) -> None:
    name = _arguments(words, 1)[0]
    found = access.load()
    if name in found.users:
        raise Died(f"create user failed: user '{name}' already exists")
    found.users[name] = True
    access.save(found)


def _user_delete(words: List[str], _options: Options) -> None:
    name = _arguments(words, 1)[0]
    found = access.load()
    if found.users.pop(name, None) is None:
        raise Died(f"no such user ('{name}')")
    _without(found, [name, *(one for one in found.tokens if one.startswith(f"{name}!"))])


def _without(found: access.Access, names: List[str]) -> None:
    """Tokens and whatever else has these names is gone, from the lists too."""
    for name in names:
        found.tokens.pop(name, None)
    found.acl = {key: value for key, value in found.acl.items() if key[1] not in names}
    access.save(found)
    left = {name: secret for name, secret in access.secrets().items() if name not in names}
    access.save_secrets(left)


def _entries(words: List[str], options: Options) -> "list[tuple[str, str, str]]":
    path = _arguments(words, 1)[0]
    whom = [name for key in ("users", "tokens") for name in options.get(key, "").split(",") if name]
    roles = [role for role in options.get("roles", "").split(",") if role]
    if not whom or not roles:
        raise BadParameters({"roles": "property is missing and it is not optional"})
    found = access.load()
    for name in whom:
        if name not in found.users and name not in found.tokens:
            kind = "token" if "!" in name else "user"
            raise Died(f"{kind} '{name}' does not exist" if kind == "user" else f"no such {kind}")
    for role in roles:
        if role not in found.roles and role not in privileges.ROLES:
            raise Died(f"role '{role}' does not exist")
    return [(path.rstrip("/") or "/", name, role) for name in whom for role in roles]


def _acl_modify(words: List[str], options: Options) -> None:
    entries = _entries(words, options)
    found = access.load()
    for entry in entries:
        found.acl[entry] = property_string.truth(options.get("propagate", "1"))
    access.save(found)


def _acl_delete(words: List[str], options: Options) -> None:
    entries = _entries(words, options)
    found = access.load()
    for entry in entries:
        found.acl.pop(entry, None)
    access.save(found)


def _token_add(words: List[str], options: Options) -> None:
    user, name = _arguments(words, 2)
    found, full = access.load(), f"{user}!{name}"
    if user not in found.users:
        raise Died(f"no such user ('{user}')")
    if full in found.tokens:
        raise BadParameters({"tokenid": "Token already exists."})
    separate = property_string.truth(options.get("privsep", "1"))
    secret = str(uuid.uuid4())
    found.tokens[full] = separate
    access.save_secrets({**access.secrets(), full: secret})
    access.save(found)
    answer = {"full-tokenid": full, "info": {"privsep": str(int(separate))}, "value": secret}
    as_json = options.get("output-format") == "json"
    print(json.dumps(answer, separators=(",", ":")) if as_json else table.render(answer))


def _token_remove(words: List[str], _options: Options) -> None:
    user, name = _arguments(words, 2)
    found = access.load()
    if f"{user}!{name}" not in found.tokens:
        raise Died(f"no such token '{name}' for user '{user}'")
    _without(found, [f"{user}!{name}"])


def _token_list(words: List[str], options: Options) -> None:
    user = _arguments(words, 1)[0]
    rows = [
        {"tokenid": name.partition("!")[2], "privsep": int(separate), "expire": 0}
        for name, separate in sorted(access.load().tokens.items())
        if name.startswith(f"{user}!")
    ]
    as_json = options.get("output-format") == "json"
    print(json.dumps(rows, separators=(",", ":")) if as_json else table.render(rows))


def _pool_add(words: List[str], _options: Options) -> None:
    name = _arguments(words, 1)[0]
    found = access.load()
    if name in found.pools:
        raise Died(f"pool '{name}' already exists")
    found.pools[name] = set()
    access.save(found)


def _pool_delete(words: List[str], _options: Options) -> None:
    name = _arguments(words, 1)[0]
    found = access.load()
    if name not in found.pools:
        raise Died(f"pool '{name}' does not exist")
    if found.pools[name]:
        raise Died(f"pool '{name}' is not empty (contains VMs)")
    del found.pools[name]
    access.save(found)


COMMANDS: Dict[str, Callable[[List[str], Options], None]] = {
    "role add": _role_add,
    "role modify": _role_modify,
    "role delete": _role_delete,
    "user add": _user_add,
    "user delete": _user_delete,
    "user token add": _token_add,
    "user token remove": _token_remove,
    "user token list": _token_list,
    "acl modify": _acl_modify,
    "acl delete": _acl_delete,
    "pool add": _pool_add,
    "pool delete": _pool_delete,
}
