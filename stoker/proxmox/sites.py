"""The file that says which clusters an inventory is read from: `inventory/proxmox.yaml`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stoker.proxmox.access import Access
from stoker.refused import Refused

ADDRESS = r"^[A-Za-z0-9]([A-Za-z0-9.:-]*[A-Za-z0-9])?$"
"""A name or an address, of IPv6 too."""

_Address = Annotated[str, Field(pattern=ADDRESS)]
SSH_KEY = Literal[
    "ssh_user",
    "ssh_port",
    "ssh_key",
    "ssh_config_file",
    "ssh_known_hosts_file",
    "ssh_strict_host_key_checking",
    "ssh_allow_agent",
    "ssh_forward_agent",
]
_FILES = ("secret_file", "ca_file", "ssh_key", "ssh_config_file", "ssh_known_hosts_file")


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Site(BaseModel):
    """A cluster, or a node that stands alone. Its other keys are those of the data `proxmox`."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    hosts: list[_Address] = Field(min_length=1)
    """Nodes to ask, in turn, until one answers."""
    addresses: dict[str, _Address] = Field(default_factory=dict)
    """Node -> where its sshd is, in place of the address that Proxmox knows."""
    required: bool = True
    """Whether there is no inventory where none of `hosts` answers. False: it is left out then."""

    @property
    def accesses(self) -> tuple[Access, ...]:
        """How the API of each host is reached. Raises `Refused`."""
        rest = {"backend": "token", **(self.model_extra or {})}
        return tuple(Access.of({**rest, "host": host}) for host in self.hosts)


class Sites(_Strict):
    """The whole file."""

    clusters: dict[Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")], Site] = Field(
        min_length=1
    )
    """By a name of your own."""
    tag: Annotated[str, Field(pattern=r"^[a-z0-9_][a-z0-9_+-]*$")] = "stoker"
    """Containers with it are taken; a dot and a flag set's name after it say what they serve."""
    stopped: bool = False
    """Whether stopped containers are hosts too."""
    ssh: dict[SSH_KEY, str | int | bool] = Field(default_factory=dict)
    """pyinfra's data for the nodes; unset: those of group_data/pve.py."""


def load(path: Path) -> Sites:
    """The file's content; keys beside `clusters` that are a cluster's hold for each of them.

    Raises `Refused` with every problem.
    """
    try:
        data = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise Refused(
            f"cannot read {path}: {why}; copy inventory/proxmox.yaml.example there, or name "
            "another file in the environment variable STOKER_PROXMOX"
        ) from error
    except yaml.YAMLError as error:
        # Not the parser's own words: they quote the line, which may hold a secret.
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = "" if line is None else f" in line {line + 1}"
        raise Refused(f"cannot read {path}: it is no YAML{where}; correct it") from None
    try:
        sites = Sites.model_validate(_spread(_placed(data, path.parent)))
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    else:
        problems = list(_unusable(sites))
    if problems:
        raise Refused("\n".join([f"cannot use {path}; correct this:", *problems]))
    return sites


def _unusable(sites: Sites) -> Iterator[str]:
    for name, site in sites.clusters.items():
        try:
            _ = site.accesses
        except Refused as reason:
            yield from (f"clusters.{name}: {line}" for line in str(reason).splitlines())


def _spread(data: Any) -> Any:
    """Each cluster with the keys that were said once for all."""
    if not isinstance(data, dict) or not isinstance(data.get("clusters"), dict):
        return data
    ours = {key: value for key, value in data.items() if key in Sites.model_fields}
    all_ = {key: value for key, value in data.items() if key not in Sites.model_fields}
    clusters = {
        name: {**all_, **site} if isinstance(site, dict) else site
        for name, site in data["clusters"].items()
    }
    return {**ours, "clusters": clusters}


def _placed(data: Any, directory: Path) -> Any:
    """Files' names as paths: `~` is the home, others are beside the file."""
    if not isinstance(data, Mapping):
        return data
    return {
        key: str(directory / Path(value).expanduser())
        if key in _FILES and isinstance(value, str)
        else _placed(value, directory)
        for key, value in data.items()
    }
