"""A session with Proxmox's API: one connection, always verified, answers or errors of ours.

On proxmoxer, less what of it bites: it verifies against certifi's authorities, gives up after 5 s,
follows redirects with the ticket, and takes a page of HTML for a success (`answers`).
"""

import functools
import http.cookiejar
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import requests
from proxmoxer.backends import https
from proxmoxer.core import ProxmoxResource, ResourceException

from stoker.proxmox import answers, dropped, login, tasks, tls
from stoker.proxmox.access import Access
from stoker.proxmox.backend import VOLUME_S, Warnings
from stoker.proxmox.errors import ProxmoxError, Unauthorized
from stoker.proxmox.within import within

CONNECT_S = 10.0
AGAIN_S = (0.1, 0.5, 2.0)
"""Pauses before a read whose connection dropped is asked again; a write never is."""


_AT_ONCE = 64  # containers; what is more gets connections that are not kept, and a log line each
_VERBS = {"GET": "read", "POST": "post to", "PUT": "change", "DELETE": "delete"}

IDLE_S = 3.0
"""Proxmox closes a connection that is idle for five seconds."""


class Session:
    """The API of one cluster as one user. The secret is read at the first request.

    All methods raise `stoker.proxmox.errors`. `asked` is what an error says could not be done.
    """

    def __init__(
        self,
        access: Access,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.access = access
        self.sleep = sleep
        self.clock = clock
        self._making = threading.Lock()
        self._session: requests.Session | None = None
        self._used = 0.0

    def __repr__(self) -> str:
        return f"Session({self.access.url})"

    def get(self, path: str, /, **params: Any) -> Any:
        """The `data` at a path such as `nodes/pve1/lxc`."""
        return self.call("GET", path, params)

    def post(self, path: str, /, **params: Any) -> Any:
        """Often the UPID of a task, which is no success yet: see `task`."""
        return self.call("POST", path, params)

    def put(self, path: str, /, **params: Any) -> Any:
        """As `post`; None for what is done at once."""
        return self.call("PUT", path, params)

    def delete(self, path: str, /, **params: Any) -> Any:
        """As `post`."""
        return self.call("DELETE", path, params)

    def task(self, upid: str, asked: str = "", limit_s: float = VOLUME_S) -> Warnings:
        """Wait until a task has succeeded; its warnings. TaskFailed, or TaskUnknown after limit_s
        seconds; what its words mean otherwise (`Locked` ...)."""
        return tasks.awaited(self, upid, asked or f"finish the task {upid}", limit_s)

    def call(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any],
        asked: str = "",
        needs: str = "",
    ) -> Any:
        """One request; a read again where its connection dropped, and both with a new ticket once
        where the old one has ended: that is said before anything is done.

        `needs`: the privileges to be named by Forbidden where Proxmox names none.
        """
        wrote = method != "GET"
        asked = asked or f"{_VERBS[method]} {path}"
        pauses = [] if wrote else list(AGAIN_S)
        renewed = False
        while True:
            try:
                return self._once(method, path, params, asked, needs)
            except dropped.Dropped as drop:
                if not pauses or not drop.again:
                    raise drop.error from None
                self.sleep(pauses.pop(0))
            except Unauthorized:
                if renewed or not self._forgotten():
                    raise
                renewed = True

    def _once(
        self, method: str, path: str, params: Mapping[str, Any], asked: str, needs: str
    ) -> Any:
        wrote = False

        def ask() -> Any:
            nonlocal wrote
            session = self._open()
            wrote = method != "GET"
            self._without_idle(session, wrote)
            base = f"{self.access.url}/api2/json"
            api = ProxmoxResource(base_url=base, session=session, serializer=answers.Answers())
            resource = api(path.strip("/"))
            return getattr(resource, method.lower())(**params)

        limit_s = self.access.timeout_s
        try:
            return within(min(CONNECT_S, limit_s) + limit_s, ask)
        except ResourceException as error:
            raise answers.refusal(error, self.access, asked, wrote, needs) from None
        except answers.Garbled as error:
            raise answers.garbled(error, self.access, asked, wrote) from None
        except ProxmoxError:
            raise
        except (requests.RequestException, OSError) as error:
            raise dropped.Dropped(error, self.access, asked, wrote) from None

    def _without_idle(self, session: requests.Session, wrote: bool) -> None:
        """No write over a connection that may be closing: nobody could tell how it ended."""
        if wrote and self.clock() - self._used > IDLE_S:
            session.close()
        self._used = self.clock()

    def _open(self) -> requests.Session:
        with self._making:
            if self._session is None:
                self._session = _connected(self.access)
            if isinstance(self._session.auth, login.Ticket):
                self._session.auth.fresh(self._session, self.clock)
            return self._session

    def _forgotten(self) -> bool:
        """Whether there was a ticket that another one may be got for."""
        with self._making:
            auth = self._session.auth if self._session else None
            return isinstance(auth, login.Ticket) and auth.forget()


@functools.lru_cache(maxsize=32)
def shared(access: Access) -> Session:
    """One for all hosts of a run, so that its connections are used again."""
    return Session(access)


def _connected(access: Access) -> requests.Session:
    """A session that keeps its connection, and neither proxies nor cookies of others'."""
    verify, timeout = tls.authorities(access), (min(CONNECT_S, access.timeout_s), access.timeout_s)
    session: requests.Session = https.ProxmoxHttpSession()
    session.trust_env = False
    session.max_redirects = 0
    session.cookies.set_policy(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
    session.mount("https://", tls.Adapter(pool_maxsize=_AT_ONCE))
    session.headers["Accept"] = "application/json"
    make = login.token if access.backend == "token" else login.Ticket
    session.auth = make(access, verify, timeout)
    return session
