"""What the inventory says a container should be: the data `container`, `container_defaults`."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from stoker.container import clashes, gpu_names, mounts, network, problems
from stoker.container.allowed import (
    AS_TUPLE,
    FileSystem,
    Gib,
    HostName,
    Mode,
    NameServers,
    Pool,
    SearchDomains,
    Storage,
    Strict,
    Tag,
    Template,
    Text,
)
from stoker.container.mounts import Mount
from stoker.container.network import Network
from stoker.refused import Refused

KEYS = ("container", "container_defaults")
"""The keys of a host's data that are told here."""
_VMID = "pct_vmid"
_NODE = "pct_host"
_TO_CREATE = ("template", "storage", "rootfs_gib")

_Seconds = Annotated[int, Field(ge=0, le=86400)]


class Startup(Strict):
    """When it starts and stops among its node's guests."""

    order: Annotated[int, Field(ge=0, le=1 << 20)] | None = None
    up_s: _Seconds | None = None
    """Wait before the next guest starts."""
    down_s: _Seconds | None = None
    """How long its shutdown may take."""


class Features(Strict):
    """What is not said stays as it is."""

    nesting: bool | None = None
    keyctl: bool | None = None
    fuse: bool | None = None
    mknod: bool | None = None
    force_rw_sys: bool | None = None
    mount: Annotated[tuple[FileSystem, ...], AS_TUPLE] | None = None
    """Kinds of file systems that may be mounted inside."""


def _one_each(what: str) -> AfterValidator:
    """No two of a list have the same name or target."""

    def check(value: tuple[Any, ...]) -> tuple[Any, ...]:
        names = [getattr(one, what) for one in value]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"has the {what} {', '.join(twice)} twice")
        return value

    return AfterValidator(check)


class Wanted(Strict):
    """One container. What is None or not said is nobody's business: it stays as it is."""

    template: Template | None = None
    """For creating it only, as is `pool`: no configuration tells them afterwards."""
    storage: Storage | None = None
    rootfs_gib: Gib | None = None
    """It grows and never shrinks."""
    unprivileged: bool | None = None
    """None: a new one is."""
    pool: Pool | None = None
    hostname: HostName | None = None
    cores: Annotated[int, Field(ge=1, le=8192)] | None = None
    memory_mib: Annotated[int, Field(ge=16, le=1 << 26)] | None = None
    swap_mib: Annotated[int, Field(ge=0, le=1 << 26)] | None = None
    nameserver: NameServers | None = None
    searchdomain: SearchDomains | None = None
    onboot: bool | None = None
    protection: bool | None = None
    description: Text | None = None
    startup: Startup | None = None
    features: Features | None = None
    tags: Annotated[tuple[Tag, ...], AS_TUPLE] = ()
    """Others that it has stay."""
    networks: Annotated[tuple[Network, ...], AS_TUPLE, _one_each("name")] = ()
    mounts: Annotated[tuple[Mount, ...], AS_TUPLE, _one_each("target")] = ()
    gpus: Annotated[Literal["all"] | tuple[str, ...] | None, BeforeValidator(gpu_names.names)] = (
        None
    )
    """UUIDs and PCI addresses. None: no device is touched; (): it has none."""
    gpus_shared: bool = False
    """Another container of the node may have the same ones."""
    device_mode: Mode = "0666"
    device_gid: Annotated[int, Field(ge=0, le=0xFFFF)] | None = None
    """In the container. Proxmox takes one beyond its 65536 for a group of the node."""
    capabilities: bool = False
    """Pass /dev/nvidia-caps too."""
    migrate_raw: bool = False
    """Write `devN` in place of stale raw lxc lines; needs a restart."""
    started: bool = True
    allow_restart: bool = False
    snapshot: bool = False
    snapshots_kept: Annotated[int, Field(ge=0, le=99)] = 1
    stop_timeout_s: Annotated[int, Field(ge=1, le=7200)] = 180

    @classmethod
    def of(
        cls, container: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
    ) -> "Wanted":
        """`container` over `defaults`: dictionaries are merged one level deep, lists replaced, and
        None takes a default away. Raises `Refused` with every problem."""
        both = {KEYS[0]: container, KEYS[1]: {} if defaults is None else defaults}
        told = [f"{key}: is no dictionary" for key, one in both.items() if not _is_mapping(one)]
        if not told:
            try:
                return cls.model_validate(_merged(*both.values()))
            except ValidationError as error:
                told = problems.of(error, cls, lambda key: KEYS[key not in container])
        raise Refused("\n".join(["cannot use this host data; correct it:", *told]))

    def require_creatable(self) -> None:
        """Raises `Refused` with all that a new container lacks."""
        lacking = [f"container.{key} is not said" for key in _TO_CREATE if not getattr(self, key)]
        lacking += [*network.lacking(self.networks, ()), *mounts.lacking(self.mounts, ())]
        if lacking:
            raise Refused("\n".join(["cannot create the container; say in its data:", *lacking]))

    @property
    def mode(self) -> int:
        """Of its devices."""
        return int(self.device_mode, 8)

    @property
    def says_mode(self) -> bool:
        """Whether the mode of its devices is said and not only the default."""
        return "device_mode" in self.model_fields_set


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _merged(container: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(defaults)
    for key, value in container.items():
        below = merged.get(key)
        both = _is_mapping(below) and _is_mapping(value)
        merged[key] = {**below, **value} if both else value  # type: ignore[dict-item]
    return {key: value for key, value in merged.items() if value is not None}


def check(hosts: Mapping[str, Mapping[str, Any]]) -> None:
    """Every problem of every host that has `container`, and of several together, in one `Refused`.

    `hosts`: name -> its data.
    """
    sound: dict[str, Wanted] = {}
    found: list[str] = []
    for name, data in hosts.items():
        if data.get("container") is None:
            continue
        found += [f"{name}: {problem}" for problem in _place(data)]
        try:
            sound[name] = Wanted.of(data["container"], data.get("container_defaults"))
        except Refused as refused:
            found += [f"{name}: {line}" for line in str(refused).splitlines()[1:]]
    found += clashes.addresses({name: w.networks for name, w in sound.items()})
    found += clashes.gpus(
        {
            name: clashes.Claim(str(hosts[name].get(_NODE)), w.gpus or (), w.gpus_shared)
            for name, w in sound.items()
        }
    )
    if found:
        raise Refused("\n".join(["cannot use the inventory; correct this host data:", *found]))


def _place(data: Mapping[str, Any]) -> Iterator[str]:
    vmid = data.get(_VMID)
    if not isinstance(vmid, int) or isinstance(vmid, bool) or not 100 <= vmid <= 999_999_999:
        yield f"{_VMID}: {vmid!r} is no VMID; write a number from 100 to 999999999"
    if not data.get(_NODE):
        yield f"{_NODE}: is not said; name the node that has the container"
