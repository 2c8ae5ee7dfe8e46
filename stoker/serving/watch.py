"""The watch of a node: what the inventory says of it, and the files that makes there."""

import json
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from stoker.serving import layout, quoting
from stoker.serving.rendering import File, rendered

SERVICE, TIMER = "stoker-watch.service", "stoker-watch.timer"
CONFIG = layout.ETC / "watch.json"


def _file(value: str) -> str:
    if not value.startswith("/") or "/../" in f"{value}/" or not value.isprintable():
        raise ValueError("is no absolute path")
    return value


def _metrics(value: str) -> str:
    if not value.endswith(".prom"):
        raise ValueError("does not end in .prom; the collector reads nothing else")
    return value


_Path = Annotated[str, AfterValidator(_file)]
_Vmid = Annotated[int, Field(ge=100, le=999_999_999)]
_Unit = Annotated[str, Field(pattern=r"^[A-Za-z0-9@:_.][A-Za-z0-9@:_.-]*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Limit(_Strict):
    """How far the watch may go for one container, by itself."""

    up_to: Literal["R3", "R4", "R5", "R6"]
    """R3: end what holds its GPUs; R4: restart it too; R5: reset GPUs; R6: reload nvidia_uvm."""
    units: list[_Unit] = Field(default_factory=list)
    """Units to free; empty: every one that is stuck."""


class Ladder(_Strict):
    """When the watch may recover by itself."""

    vmids: dict[_Vmid, Limit]
    at_most_per_day: Annotated[int, Field(ge=1, le=24)] = 3
    """For each container, within 24 hours."""


class Watch(_Strict):
    """A look at the node now and then, written as metrics and as JSON."""

    every_s: Annotated[int, Field(ge=10, le=86_400)] = 60
    """Seconds between the end of one look and the next."""
    metrics: Annotated[_Path, AfterValidator(_metrics)] = (
        "/var/lib/prometheus/node-exporter/stoker.prom"
    )
    """Where Prometheus' node exporter finds it; by default where Debian's looks."""
    status: _Path = str(layout.STATE / "status.json")
    ladder: Ladder | None = None
    """None: it looks and never touches anything."""

    @property
    def exec_start(self) -> str:
        """One look, quoted."""
        return quoting.command(
            ("/usr/bin/python3", "-I", "-S", str(layout.PYZ), "watch", "--config", str(CONFIG))
        )

    @property
    def directories(self) -> tuple[str, ...]:
        """Where its two files go."""
        return tuple(sorted({str(PurePosixPath(p).parent) for p in (self.metrics, self.status)}))


def config_text(watch: Watch) -> str:
    """What `stoker.pyz watch` reads; one value a line, which the removal relies on."""
    said: dict[str, Any] = watch.model_dump(exclude={"every_s"})
    return json.dumps(said, indent=2, sort_keys=True) + "\n"


def files_of(watch: Watch) -> tuple[File, ...]:
    """The files of a watch, the timer last: what it starts is there before it."""
    return (
        File(CONFIG, config_text(watch)),
        File(layout.unit_file(SERVICE), rendered(f"{SERVICE}.j2", watch=watch)),
        File(layout.unit_file(TIMER), rendered(f"{TIMER}.j2", watch=watch)),
    )
