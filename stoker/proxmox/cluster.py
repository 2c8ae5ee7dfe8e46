"""What a cluster, or a node that stands alone, says of itself: its nodes and its guests."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from stoker.proxmox.errors import ProxmoxError

# As DNS has it, so that it is one word in every command, address and sentence.
LABEL = r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"


def _tags(text: object) -> frozenset[str]:
    """As Proxmox splits them: by `;`, which it writes, and by what it takes besides."""
    return frozenset(tag for tag in re.split(r"[;,\s\0]+", str(text or "")) if tag)


def _flag(value: object) -> bool:
    """Perl's truth."""
    return value not in (None, "", "0", 0)


class Node(BaseModel):
    """A line of /cluster/status."""

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(pattern=LABEL)]
    online: Annotated[bool, BeforeValidator(_flag)] = False
    ip: str | None = None
    """Absent for a node that was offline since the others started."""


class Guest(BaseModel):
    """A line of /cluster/resources."""

    model_config = ConfigDict(frozen=True)

    vmid: Annotated[int, Field(ge=1)]
    kind: Annotated[str, Field(alias="type")]
    """`lxc` or `qemu`."""
    node: Annotated[str, Field(pattern=LABEL)]
    name: str = ""
    """Its hostname; absent while nobody hears from its node."""
    status: str = "unknown"
    """running, stopped or unknown, up to ten seconds old."""
    template: Annotated[bool, BeforeValidator(_flag)] = False
    pool: str = ""
    tags: Annotated[frozenset[str], BeforeValidator(_tags)] = frozenset()


@dataclass(frozen=True)
class Cluster:
    """Its nodes, by name, and the guests that its API shows to whom it was asked by."""

    nodes: Mapping[str, Node]
    guests: tuple[Guest, ...]


def asked(get: Callable[..., Any], where: str) -> Cluster:
    """Two requests: `get` is a session's. `where`: for the sentence of a wrong answer.

    Raises `stoker.proxmox.errors`.
    """
    status, resources = get("cluster/status"), get("cluster/resources", type="vm")
    try:
        nodes = [line for line in status if line.get("type") == "node"]
        known = TypeAdapter(tuple[Node, ...]).validate_python(nodes)
        guests = TypeAdapter(tuple[Guest, ...]).validate_python(resources)
    except (ValidationError, AttributeError, TypeError) as error:
        raise ProxmoxError(
            f"cannot read the containers of {where}: the answer is not Proxmox's; see that the "
            "address is a Proxmox node's"
        ) from error
    return Cluster({node.name: node for node in known}, guests)
