"""Stand-in: one request to the API, and the check of its parameters."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Mapping, NamedTuple, Pattern, Sequence, Tuple

from .. import access, property_string, schema
from ..command import BOOLEAN, INTEGER, TEXT
from . import problem

STRING = TEXT
__all__ = ["BOOLEAN", "INTEGER", "STRING", "Call", "Route", "checked"]


class Call(NamedTuple):
    """A request whose sender is known and whose parameters are good."""

    user: str
    """`stoker@pve`, or of a token `stoker@pve!deploy`."""
    values: Mapping[str, str]
    place: Mapping[str, str]
    """What stands in the path: node, vmid, upid ..."""
    access: access.Access

    @property
    def vmid(self) -> int:
        """The guest in the path."""
        return int(self.place["vmid"])

    @property
    def is_root(self) -> bool:
        """Whether it is root@pam itself: a token of root's is not."""
        return self.user == access.ROOT_USER

    def is_set(self, name: str) -> bool:
        """Whether a boolean parameter is given and true."""
        return property_string.truth(self.values.get(name))

    def may(self, path: str, *privileges: str) -> bool:
        """Whether the sender has one of these privileges there."""
        return bool(self.access.privileges(self.user, path) & set(privileges))

    def require(self, path: str, *privileges: str) -> None:
        """403 without at least one of these privileges there."""
        if not self.may(path, *privileges):
            raise problem.forbidden(f"{path}, {'|'.join(privileges)}")

    def require_vm(self, *privileges: str) -> None:
        """403 without at least one of these privileges over the guest in the path."""
        self.require(f"/vms/{self.vmid}", *privileges)


class Route(NamedTuple):
    """One method of one path."""

    method: str
    pattern: Pattern[str]
    answer: Callable[[Call], Any]
    takes: Mapping[str, schema.Key] = {}
    needs: Sequence[str] = ()
    takes_config: bool = False


_FORMS: Dict[str, Tuple[str, str]] = {
    "vmid": (r"[1-9][0-9]{2,8}", "invalid format - value does not look like a valid VM ID"),
    "node": (
        r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?",
        "invalid format - value does not look like a valid node name",
    ),
    "snapname": (r"[A-Za-z][A-Za-z0-9_-]{1,39}", "invalid format - invalid configuration ID '{}'"),
}


def checked(route: Route, place: Mapping[str, str], values: Mapping[str, str]) -> None:
    """400 with every complaint about what the path and the parameters say."""
    complaints: Dict[str, str] = {}
    for name, value in [*place.items(), *values.items()]:
        found = _complaint(route, name, value, name in place)
        if found:
            complaints[name] = found
    for name in route.needs:
        if name not in values:
            complaints[name] = problem.MISSING
    if complaints:
        raise problem.bad(complaints)


def _complaint(route: Route, name: str, value: str, in_path: bool) -> str:
    key = route.takes.get(name) or (schema.find(name) if route.takes_config else None)
    if key is None and not in_path:
        return problem.NOT_IN_SCHEMA
    if name == "vmid" and not re.fullmatch(r"[+-]?\d+", value):
        return f"type check ('integer') failed - got '{value}'"
    if name in _FORMS:
        pattern, text = _FORMS[name]
        return "" if re.fullmatch(pattern, value) else text.format(value)
    if key is None:
        return ""
    if name in route.takes:
        return schema.of_key(key, value) or ""
    return schema.complaint(name, value) or ""
