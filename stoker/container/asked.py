"""The data `driver` of a container's host and `node_settings` of a node, checked."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stoker.refused import Refused

_Path = Annotated[str, Field(pattern=r"^[^\x00-\x1f]+$")]
_Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.,:=/@+-]+$")]
_Watts = Annotated[int, Field(ge=1, le=5000)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Driver(_Strict):
    """How the driver's libraries come into a container."""

    source: _Path | None = None
    """A `.run` file or a directory of .deb packages, on the node or on this machine; None: the
    node's own libraries."""
    replace: bool = False
    """Libraries of another version in the container's own directories are removed."""
    hold: bool = False
    """The driver's packages in the container are held at their versions."""


class NodeSettings(_Strict):
    """What is changed on a node; what is not named stays as it is."""

    gpu_nodes: bool = True
    """The unit that makes the GPUs' device nodes before any container starts."""
    modules: bool = False
    """NVIDIA's modules are loaded at boot and nouveau never is."""
    persistence: bool = False
    power_limit_w: _Watts | dict[str, _Watts] | None = None
    """Of every GPU, or by UUID."""
    hold: bool = False
    """The driver's packages on the node are held at their versions."""
    kernel_command_line: list[_Word] = Field(default_factory=list)
    """Words that the kernel's command line gets; none is ever taken away."""


_KINDS: Mapping[str, type[_Strict]] = {"driver": Driver, "node_settings": NodeSettings}
KEYS = tuple(_KINDS)


def driver(data: Mapping[str, Any] | None) -> Driver:
    """Of one host; `check` has seen it."""
    return Driver.model_validate(data or {})


def node_settings(data: Mapping[str, Any] | None) -> NodeSettings:
    """Of one host; `check` has seen it."""
    return NodeSettings.model_validate(data or {})


def check(hosts: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises `Refused` with every problem of these two keys, of all hosts."""
    problems = [f"{name}: {problem}" for name, data in hosts.items() for problem in _problems(data)]
    if problems:
        raise Refused("\n".join(["cannot use the inventory; correct this host data:", *problems]))


def _problems(data: Mapping[str, Any]) -> Iterator[str]:
    for key, kind in _KINDS.items():
        try:
            kind.model_validate(data.get(key) or {})
        except ValidationError as error:
            for one in error.errors():
                place = ".".join([key, *(str(part) for part in one["loc"])])
                yield f"{place}: {one['msg'].removeprefix('Value error, ')}"
