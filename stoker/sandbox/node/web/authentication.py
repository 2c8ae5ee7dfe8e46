"""Stand-in: who sends a request: an API token, or a ticket with its CSRF token."""

from __future__ import annotations

import hashlib
import hmac
import http.cookies
import re
import secrets
import time
import warnings
from typing import Any, Dict, Mapping

from .. import access, cluster, privileges, store
from . import problem

with warnings.catch_warnings():
    # Debian 12's Python has them still; a later one would need PAM itself.
    warnings.simplefilter("ignore", DeprecationWarning)
    import crypt
    import spwd

LIFETIME_S = 7200


def user(method: str, headers: Mapping[str, str]) -> str:
    """The sender: `stoker@pve`, or of a token `stoker@pve!deploy`; 401 where it is nobody."""
    given = headers.get("Authorization", "")
    if given.startswith("PVEAPIToken"):
        return _token(given)
    cookies = http.cookies.SimpleCookie(headers.get("Cookie", ""))
    if "PVEAuthCookie" not in cookies:
        raise problem.Problem(401, "No ticket")
    name = _of_ticket(cookies["PVEAuthCookie"].value)
    if method != "GET" and not _csrf_is_good(name, headers.get("CSRFPreventionToken", "")):
        raise problem.Problem(401, "Permission denied - invalid csrf token")
    return name


def _token(given: str) -> str:
    match = re.fullmatch(r"PVEAPIToken[= ]((\S+@\S+)!([^=\s]+))=(\S+)", given)
    if not match:
        raise problem.Problem(401, "no tokenid specified")
    full, name, token, secret = match.groups()
    found = access.load()
    if name not in found.users:
        raise problem.Problem(401, f"no such user ('{name}')")
    if full not in found.tokens:
        raise problem.Problem(401, f"no such token '{token}' for user '{name}'")
    if not hmac.compare_digest(access.secrets().get(full, ""), secret):
        raise problem.Problem(401, "invalid token value!")
    return full


def _key() -> bytes:
    """What the cluster signs tickets with; made at the first ticket."""
    path = f"{cluster.ROOT}/priv/authkey.key"
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        store.put(path, secrets.token_hex(32), 0o600)
        return _key()


def _signature(text: str) -> str:
    return hmac.new(_key(), text.encode(), hashlib.sha256).hexdigest()


def ticket_of(name: str) -> str:
    """A ticket of that user from now on."""
    text = f"PVE:{name}:{int(time.time()):08X}"
    return f"{text}::{_signature(text)}"


def _of_ticket(ticket: str) -> str:
    match = re.fullmatch(r"(PVE:([^:\s]+):([0-9A-F]{8}))::([0-9a-f]+)", ticket)
    if not match or not hmac.compare_digest(_signature(match.group(1)), match.group(4)):
        raise problem.Problem(401, "permission denied - invalid PVE ticket")
    if time.time() - int(match.group(3), 16) > LIFETIME_S:
        raise problem.Problem(401, "permission denied - invalid PVE ticket")
    return match.group(2)


def _csrf(name: str) -> str:
    now = f"{int(time.time()):08X}"
    return f"{now}:{_signature(f'{now}:{name}')}"


def _csrf_is_good(name: str, given: str) -> bool:
    now, _, signature = given.partition(":")
    return hmac.compare_digest(_signature(f"{now}:{name}"), signature)


def ticket(values: Mapping[str, str]) -> Dict[str, Any]:
    """What POST /access/ticket answers; 401 for a wrong password."""
    name = values["username"]
    if "@" not in name:
        name = f"{name}@{values.get('realm', 'pam')}"
    if not _knows(name, values["password"]):
        raise problem.Problem(401, "authentication failure")
    everything = dict.fromkeys(sorted(privileges.ALL), 1) if name == access.ROOT_USER else {}
    return {
        "username": name,
        "ticket": ticket_of(name),
        "CSRFPreventionToken": _csrf(name),
        "cap": dict.fromkeys(("access", "dc", "nodes", "sdn", "storage", "vms"), everything),
    }


def _knows(name: str, password: str) -> bool:
    """Whether that is its password: of a user of the node for @pam, a ticket of its own too."""
    if password.startswith("PVE:"):
        try:
            return _of_ticket(password) == name
        except problem.Problem:
            return False
    account, _, realm = name.rpartition("@")
    if realm != "pam" or name not in access.load().users:
        return False
    try:
        stored = spwd.getspnam(account).sp_pwdp
    except KeyError:
        return False
    return hmac.compare_digest(crypt.crypt(password, stored) or "", stored)
