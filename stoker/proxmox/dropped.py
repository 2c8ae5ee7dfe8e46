"""A request whose connection failed: why, whether it may be sent again, what may have happened."""

import requests
import urllib3.exceptions as lower

from stoker.proxmox import refusals, tls
from stoker.proxmox.access import Access
from stoker.proxmox.errors import ProxmoxError, Unreachable


class Dropped(Exception):  # noqa: N818 - what happened
    """`error`: ours, to be raised; `again`: whether asking again may help."""

    def __init__(self, error: Exception, access: Access, asked: str, wrote: bool) -> None:
        why = _why(error, access)
        sent = wrote and not _never_sent(error)
        self.again = _comes_and_goes(error)
        self.error: ProxmoxError
        if sent:
            self.error = refusals.unknown(asked, f"{why}; {refusals.MAYBE}")
        else:
            self.error = Unreachable(f"cannot {asked}: {why}; {refusals.NOTHING}")
        super().__init__(str(self.error))


def _why(error: Exception, access: Access) -> str:
    if trouble := tls.problem(access, error):
        return f"{access.url}: {trouble}"
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return f"nobody answers at {access.url}; correct proxmox.host, or see that the node is up"
    if isinstance(error, requests.exceptions.Timeout):
        return f"{access.url} did not answer within {access.timeout_s:g} s; see pveproxy there"
    if isinstance(error, requests.exceptions.TooManyRedirects):
        return f"{access.url} sends on to another address; is a proxy in between?"
    if _in_handshake(error):
        return f"{access.url} does not speak TLS as Proxmox does; correct host and port"
    if _never_sent(error):
        return f"{access.url} cannot be connected to ({_cause(error)}); see that the node is up"
    return f"the connection to {access.url} ended before its answer ({_cause(error)})"


def _never_sent(error: Exception) -> bool:
    """Whether it ended before a request was sent."""
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return True
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(reason, lower.NewConnectionError) or _in_handshake(error)


def _in_handshake(error: Exception) -> bool:
    """TLS that could not begin; where it ends (EOF) it may have begun."""
    return isinstance(error, requests.exceptions.SSLError) and "EOF" not in str(error)


def _comes_and_goes(error: Exception) -> bool:
    """A connection that was refused or cut; no certificate, and nothing that took its time."""
    cut = (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError)
    slow = isinstance(error, requests.exceptions.Timeout)
    return isinstance(error, cut) and not slow and not _in_handshake(error)


def _cause(error: Exception) -> str:
    """The innermost reason, in few words: never an address with what was asked."""
    while error.args and isinstance(error.args[-1], Exception):
        error = error.args[-1]
    reason = getattr(error, "reason", None)
    said = str(reason if isinstance(reason, Exception) else error)
    return refusals.one_line(said.rpartition(": ")[2] or type(error).__name__)[:120]
