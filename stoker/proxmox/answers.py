"""What the API answers, and what an answer that is none means."""

import json
from typing import Any

import requests
from proxmoxer.core import ResourceException

from stoker.proxmox import refusals
from stoker.proxmox.access import Access
from stoker.proxmox.errors import (
    Forbidden,
    NodeOffline,
    ProxmoxError,
    Rejected,
    Unauthorized,
    Unreachable,
)

_GATEWAY = (502, 503, 504)


class Garbled(Exception):  # noqa: N818 - what happened
    """An answer of success that is none of Proxmox: cut off, or another server's page."""


class Answers:
    """Reads answers for proxmoxer, whose own takes a page of HTML for a success, and drops the
    message of an error that has one in its body."""

    def loads(self, response: requests.Response) -> Any:
        """The `data`; Garbled if there is none."""
        try:
            return json.loads(response.content)["data"]
        except (ValueError, KeyError, TypeError, RecursionError):
            # Not its `text`, for which requests guesses an encoding.
            page = response.content[:400].decode("utf-8", "replace")
            raise Garbled(refusals.one_line(page)[:80]) from None

    def loads_errors(self, response: requests.Response) -> dict[str, Any]:
        """`message` and `errors` (of each parameter) of an answer that is an error."""
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError):
            return {"page": response.content.lstrip().startswith(b"<")}
        return body if isinstance(body, dict) else {}


def refusal(
    error: ResourceException, access: Access, asked: str, wrote: bool, needs: str = ""
) -> ProxmoxError:
    """An answer of 400 or more as an error of ours.

    Its message is in the body, and in older ones only in the status line. `needs`: the privileges
    to be named where Proxmox names none.
    """
    status, body = error.status_code, error.errors or {}
    said = str(body.get("message") or error.content or "").strip()
    so_far = refusals.MAYBE if wrote else refusals.NOTHING
    if status in _GATEWAY or body.get("page"):
        return _from_another(asked, f"answers {status} and is not Proxmox itself", access, wrote)
    if status == 401:
        return Unauthorized(
            f"cannot {asked}: {access.url} does not know {_who(access)} or its secret "
            f"({refusals.one_line(said)}); make a new one, or correct it; {refusals.NOTHING}"
        )
    if status == 403:
        return _forbidden(said, asked, needs)
    if status in (400, 501):
        return refusals.error(_fields(said, body), asked, Rejected)
    if status >= 595:
        return NodeOffline(
            f"cannot {asked}: {access.url} cannot reach that node ({refusals.one_line(said)}); "
            f"see that it is up; {refusals.NOTHING if status == 595 else so_far}"
        )
    return refusals.error(said, asked, wrote=wrote)


def garbled(error: Garbled, access: Access, asked: str, wrote: bool) -> ProxmoxError:
    """An answer that nobody can read as an error of ours."""
    return _from_another(asked, f"answers what is not Proxmox's ({error})", access, wrote)


def _from_another(asked: str, what: str, access: Access, wrote: bool) -> ProxmoxError:
    if wrote:
        return refusals.unknown(
            asked, f"{access.url} {what}; is a proxy in between? {refusals.MAYBE}"
        )
    return Unreachable(
        f"cannot {asked}: {access.url} {what}; is a proxy in between? {refusals.NOTHING}"
    )


def _who(access: Access) -> str:
    return f"the token {access.token}" if access.backend == "token" else access.user


def _forbidden(said: str, asked: str, needs: str) -> ProxmoxError:
    if "(" not in said and needs:
        said = f"Permission check failed ({needs})"
    return refusals.error(said, asked, Forbidden)


def _fields(said: str, body: dict[str, Any]) -> str:
    fields = body.get("errors")
    if not isinstance(fields, dict):
        return said
    return ", ".join(f"{key}: {refusals.one_line(str(why))}" for key, why in fields.items())
