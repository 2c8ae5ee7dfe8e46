"""Who we are to the API: a token in a header, or a ticket that a password gets."""

import time
from collections.abc import Callable
from http.cookiejar import CookieJar
from typing import Any

import requests
from proxmoxer.backends import https
from requests.auth import AuthBase
from requests.cookies import RequestsCookieJar

from stoker.proxmox.access import Access
from stoker.proxmox.errors import Unauthorized, Unreachable
from stoker.proxmox.secret import secret

RENEW_S = 3600.0
"""Age at which a ticket is asked for again; Proxmox lets one live for two hours."""


def token(access: Access, verify: str, timeout: tuple[float, float]) -> AuthBase:
    """The header of an API token, by proxmoxer."""
    user, _, name = access.token.partition("!")
    auth: AuthBase = https.ProxmoxHTTPApiTokenAuth(
        user, name, secret(access), verify_ssl=verify, timeout=timeout
    )
    return auth


class Ticket(AuthBase):
    """The cookie of a ticket. proxmoxer's own would ask for it over a second connection, trust the
    environment for a proxy, and say nothing of why it got none."""

    def __init__(self, access: Access, verify: str, timeout: tuple[float, float]) -> None:
        self.verify_ssl = verify
        self.timeout = timeout
        self._access = access
        self._ticket = self._csrf = ""
        self._until = 0.0

    def get_cookies(self) -> CookieJar:
        """For proxmoxer's session."""
        jar = RequestsCookieJar()
        if self._ticket:
            jar.set("PVEAuthCookie", self._ticket)
        return jar

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if request.method != "GET":
            request.headers["CSRFPreventionToken"] = self._csrf
        return request

    def fresh(self, session: requests.Session, clock: Callable[[], float] = time.monotonic) -> None:
        """Ask for a ticket if there is none or an old one; not by proxmoxer, which may log it."""
        if self._ticket and clock() < self._until:
            return
        self._ticket = ""
        answer = session.request(
            "POST",
            f"{self._access.url}/api2/json/access/ticket",
            data={"username": self._access.user, "password": secret(self._access)},
        )
        given = self._given(answer)
        self._ticket, self._csrf = given["ticket"], given["CSRFPreventionToken"]
        self._until = clock() + RENEW_S

    def forget(self) -> bool:
        """Let the next request ask for another one; whether there was one to forget."""
        had, self._ticket = bool(self._ticket), ""
        return had

    def _given(self, answer: requests.Response) -> dict[str, Any]:
        who = f"cannot log in to Proxmox at {self._access.url} as {self._access.user}"
        if answer.status_code == 401:
            raise Unauthorized(f"{who}: it says no; correct the user or the secret")
        if answer.status_code != 200:
            raise Unreachable(f"{who}: it answers {answer.status_code}; see pveproxy there")
        try:
            given: dict[str, Any] = answer.json()["data"]
            complete = bool(given["ticket"] and given["CSRFPreventionToken"])
        except (ValueError, KeyError, TypeError, RecursionError):
            complete = False
        if not complete:
            raise Unreachable(f"{who}: its answer is none of Proxmox; is a proxy in between?")
        if given.get("NeedTFA"):
            raise Unauthorized(f"{who}: it asks for a second factor; use an API token")
        return given
