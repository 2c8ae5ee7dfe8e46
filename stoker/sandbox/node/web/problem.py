"""Stand-in: an answer of the API that is not 200."""

from __future__ import annotations

from typing import Mapping, Optional

from ..died import BadParameters, BadRequest, Died

NOT_IN_SCHEMA = (
    "property is not defined in schema and the schema does not allow additional properties"
)
MISSING = "property is missing and it is not optional"


class Problem(Exception):  # noqa: N818 - it is an answer
    """Status, message and, of a 400, the complaint about each parameter."""

    def __init__(
        self, status: int, message: str, errors: Optional[Mapping[str, str]] = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = dict(errors or {})


def bad(errors: Mapping[str, str]) -> Problem:
    """Parameters that are not what the schema wants.

    The complaint of a format ends its line, as the real one's does.
    """
    told = {
        name: f"{text}\n" if text.startswith("invalid format - ") else text
        for name, text in errors.items()
    }
    return Problem(400, "Parameter verification failed.", told)


def forbidden(what: str = "") -> Problem:
    """A privilege is missing, or it takes root@pam."""
    return Problem(403, "Permission check failed" + (f" ({what})" if what else ""))


def of(died: Died) -> Problem:
    """What a failure of `pct` is over the API."""
    if isinstance(died, BadParameters):
        return bad(died.errors)
    if isinstance(died, BadRequest):
        return Problem(400, died.text.partition(" ")[2])
    return Problem(500, died.text)
