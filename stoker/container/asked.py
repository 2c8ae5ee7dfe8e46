"""The data `driver` of a container's host and `node_settings` of a node, checked."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError

from stoker.container import problems
from stoker.container.allowed import Strict, form
from stoker.refused import Refused

_Path = Annotated[str, form(r"[^\x00-\x1f]+", "is no path")]
_Word = Annotated[str, form(r"[A-Za-z0-9_.,:=/@+-]+", "is not one word of a kernel's command line")]
_Watts = Annotated[int, Field(ge=1, le=5000)]


class Driver(Strict):
    """How the driver's libraries come into a container."""

    source: _Path | None = None
    """A `.run` file or a directory of .deb packages, on the node or on this machine; None: the
    node's own libraries."""
    replace: bool = False
    """Libraries of another version in the container's own directories are removed."""
    hold: bool = False
    """The driver's packages in the container are held at their versions."""


class NodeSettings(Strict):
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


_KINDS: Mapping[str, type[Strict]] = {"driver": Driver, "node_settings": NodeSettings}
KEYS = tuple(_KINDS)


def driver(data: Mapping[str, Any] | None) -> Driver:
    """Of one host; `check` has seen it."""
    return Driver.model_validate(data or {})


def node_settings(data: Mapping[str, Any] | None) -> NodeSettings:
    """Of one host; `check` has seen it."""
    return NodeSettings.model_validate(data or {})


def check(hosts: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises `Refused` with every problem of these two keys, of all hosts."""
    found = [f"{name}: {problem}" for name, data in hosts.items() for problem in _problems(data)]
    if found:
        raise Refused("\n".join(["cannot use the inventory; correct this host data:", *found]))


def _problems(data: Mapping[str, Any]) -> Iterator[str]:
    for key, kind in _KINDS.items():
        said = data.get(key)
        yield from _of(key, kind, {} if said is None else said)


def _of(key: str, kind: type[Strict], said: Any) -> list[str]:
    try:
        kind.model_validate(said)
    except ValidationError as error:
        return problems.of(error, kind, lambda _: key)
    return []
