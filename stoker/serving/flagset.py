"""A flag set: what one SGLang version should serve, how, and what is known about it.

One YAML file each, `group_data/flagsets/<name>.yaml`. Loaded strictly: `stoker.serving.loading`.
"""

import datetime
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

Scalar = str | int | float
Flag = Scalar | Literal[True] | tuple[Scalar, ...]

OWNED_FLAGS = {
    "model": "model.path",
    "model-path": "model.path",
    "served-model-name": "model.served_name",
    "host": "host",
    "port": "port",
    "nccl-port": "port (the port plan is made from it)",
    "api-key": "the host's secrets (API_KEY)",
    "admin-api-key": "the host's secrets (ADMIN_API_KEY)",
    "config": "flags",
}
"""Flags that a flag set says elsewhere, and where."""
ABBREVIATED = {"tp": "tp-size", "dp": "dp-size", "pp": "pp-size", "ep": "ep-size"}
"""SGLang takes any unique beginning of an option; the next version may have two of them."""
OWNED_ENV = {
    "CUDA_VISIBLE_DEVICES": "placement.gpus",
    "CUDA_HOME": "the venv",
    "PATH": "the venv",
    "HOME": "the unit",
    "STOKER_DIGEST": "the unit",
    "STOKER_API_KEY": "the host's secrets (API_KEY)",
    "STOKER_ADMIN_API_KEY": "the host's secrets (ADMIN_API_KEY)",
}
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
"""What no line of a unit can hold."""
NAME = r"^[a-z0-9][a-z0-9.-]*$"
"""A flag set's name, which is its file's too."""
_SECRET = re.compile(r"(^|_)((API|ACCESS|SECRET|PRIVATE)_?KEY|TOKEN|SECRET|PASSWORD|PASSWD)$")


def _absolute(value: str) -> str:
    if not value.startswith("/") or "/../" in f"{value}/":
        raise ValueError(f"{value!r} is not an absolute path")
    return value.rstrip("/")


def _flag_name(name: str) -> str:
    if name in OWNED_FLAGS:
        raise ValueError(f"is not set here; say it in {OWNED_FLAGS[name]}")
    if name in ABBREVIATED:
        raise ValueError(f"is an abbreviation; write {ABBREVIATED[name]}")
    if name.endswith(("-password", "-secret", "-key")):
        raise ValueError("is a secret, and every `ps` shows flags; leave it out")
    # Else `api-ke` would be `--api-key` to argparse, in a world-readable unit and in every `ps`.
    if whole := next((owned for owned in OWNED_FLAGS if owned.startswith(name)), None):
        raise ValueError(f"is an abbreviation of {whole}; say it in {OWNED_FLAGS[whole]}")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ValueError("is no long option's name; write it without dashes in front, `tp-size`")
    return name


def _flag_value(value: Any) -> Any:
    if value is False:
        raise ValueError("false is not a value; leave the flag out")
    if value is None or isinstance(value, dict):
        raise ValueError("is neither a value, true nor a list")
    for word in value if isinstance(value, list) else [value]:
        _one_line(str(word))
    if not isinstance(value, list):
        return value
    if not value or any(isinstance(v, bool | list | dict) or v is None for v in value):
        raise ValueError("a list holds one or more plain values")
    return tuple(value)


def _env_name(name: str) -> str:
    if name in OWNED_ENV:
        raise ValueError(f"is not set here; it comes from {OWNED_ENV[name]}")
    if _SECRET.search(name):
        raise ValueError("is a secret; say it in the host's secrets")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("is no environment variable's name")
    return name


def _env_value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("is not text; quote it")
    return _one_line(str(value))


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _one_line(value: str) -> str:
    # A unit's file is lines; systemd knows no way to write such a value into it.
    if CONTROL.search(value):
        raise ValueError("holds a control character; remove it")
    return value


def _reason(value: str) -> str:
    if not value.strip():
        raise ValueError("has no reason; say why the row does not count here")
    return value


Text = Annotated[str, AfterValidator(_one_line)]
Waiver = Annotated[Text, AfterValidator(_reason)]
Path = Annotated[str, AfterValidator(_absolute), AfterValidator(_one_line)]


class Model(_Strict):
    """The model's directory inside the container."""

    path: Path
    staged_from: Path | None = None
    """Where it lies on disk, if `path` is in memory (/dev/shm) and must be copied there first."""
    served_name: Text | None = None
    """The name clients use; None: SGLang's own default, which is `path`."""


class Draft(_Strict):
    """A draft model that is not used as it lies there."""

    renamed_from: Path
    """Where it lies; `speculative-draft-model-path` is its copy with the names SGLang loads."""


class Placement(_Strict):
    """Which GPUs, and whether each has its own server."""

    layout: Literal["one-per-gpu", "tensor-parallel", "cpu"]
    gpus: tuple[Annotated[int, Field(ge=0, le=999)], ...] = ()


def _reported(value: Any) -> Any:
    if value == "measured":
        raise ValueError("is what a run writes, as evidence beside the flag set; write reported")
    return value


class Status(_Strict):
    """What somebody says of this flag set. What a run measured is its evidence, and no part of it:
    see `stoker.serving.evidence`."""

    state: Annotated[Literal["reported"], BeforeValidator(_reported)]
    """Somebody says it worked there."""
    by: str
    machine: str
    date: datetime.date | None = None
    figures: dict[str, str | int | float] | None = None
    note: str


class FlagSet(_Strict):
    """What the operators would name: model, version, placement, flags, environment."""

    name: Annotated[str, Field(pattern=NAME)]
    description: Text = ""
    sglang: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+([.a-z0-9]*)$")]
    model: Model
    placement: Placement
    host: Text = "127.0.0.1"
    port: Annotated[int, Field(ge=2024, le=64535)]
    """Of the only server, or of GPU 0's: GPU n's server has port + n."""
    flags: dict[
        Annotated[str, AfterValidator(_flag_name)], Annotated[Any, AfterValidator(_flag_value)]
    ] = Field(default_factory=dict)
    """Long option without its dashes -> value, true for a switch, or a list. See `Flag`."""
    env: dict[
        Annotated[str, AfterValidator(_env_name)], Annotated[Any, AfterValidator(_env_value)]
    ] = Field(default_factory=dict)
    draft: Draft | None = None
    """None: the draft, if there is one, is used as it is."""
    waivers: dict[Annotated[str, Field(pattern=NAME)], Waiver] = Field(default_factory=dict)
    """Known-bad row -> why it does not count here; every check tells it again."""
    status: Status | None = None
    """None: nobody has said anything of it yet."""

    @property
    def served_name(self) -> str:
        """The name the server answers to."""
        return self.model.served_name or self.model.path
