"""What the inventory says of each host, looked at first: every problem of every host at once."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from stoker.refused import Refused
from stoker.serving import loading, selection
from stoker.serving.flagset import CONTROL, NAME, OWNED_ENV, FlagSet
from stoker.serving.placement import units_of
from stoker.serving.rendering import files_of
from stoker.serving.watch import Watch


def _secret_name(name: str) -> str:
    if name in OWNED_ENV:
        raise ValueError(f"is not set here; it comes from {OWNED_ENV[name]}")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("is no environment variable's name")
    return name


def _one_line(value: str) -> str:
    if CONTROL.search(value):
        raise ValueError("is not one line of text; see where it is read from")
    return value


VENVS_KEPT = 3
"""The way back to an earlier version needs no installation."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class WheelIndex(_Strict):
    """Where a node's wheels come from."""

    url: str | None = None
    ca_file: str | None = None
    """Path on the node."""


class Recovery(_Strict):
    """What recovery may do to a container beyond ending what holds its GPUs; off unless said."""

    stop_running: bool = False
    """Stop a server that runs and does not answer; one that answers is never stopped."""
    allow_restart: bool = False
    """Restart the container, with all that runs in it."""
    allow_gpu_reset: bool = False
    allow_driver_reload: bool = False
    """Reload nvidia_uvm; with `full` the whole driver, which needs every GPU container stopped."""
    full: bool = False
    allow_stop_service: list[Annotated[str, Field(pattern=r"^[A-Za-z0-9@:_.-]+$")]] = Field(
        default_factory=list
    )
    """Services of the node, monitors for instance, that may be stopped meanwhile."""
    ha: bool = False
    """Go on although HA manages the container."""
    release_wait: Annotated[int, Field(ge=1, le=3600)] | None = None
    """Seconds that freed memory may take to come back; unset: 120."""

    @property
    def options(self) -> tuple[str, ...]:
        """The same as options of `stoker.pyz recover`."""
        words: list[str] = []
        for key, value in self:
            option = f"--{key.replace('_', '-')}"
            if value is True:
                words.append(option)
            elif isinstance(value, int) and value:
                words += [option, str(value)]
            elif value:
                words += [word for one in value for word in (option, one)]
        return tuple(words)


_Secret = Annotated[str, Field(min_length=1), AfterValidator(_one_line)]
# An empty secret would be no secret: the server would answer everybody.
_Secrets = dict[Annotated[str, AfterValidator(_secret_name)], _Secret]


class HostData(_Strict):
    """The keys of a host's data that are ours."""

    flagsets: list[Annotated[str, Field(pattern=NAME)]] = Field(default_factory=list)
    """Names of files in group_data/flagsets; what no flag set wants is removed from the host."""
    service_user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]*$")] = "sglang"
    secrets: dict[str, _Secrets] = Field(default_factory=dict, repr=False)
    """Unit, or `*` for all -> secret's name -> secret."""
    stop_foreign: bool = False
    candidate: bool | Literal["yes", "no"] = False
    """Flag sets without evidence may be tried; asked for by a run, `--data candidate=yes`."""
    venvs_kept: Annotated[int, Field(ge=0, le=99)] = VENVS_KEPT
    """How many finished venvs stay that nothing uses any more."""
    wheel_index: WheelIndex | None = None
    recovery: Recovery | None = None
    """Of a container."""
    watch: Watch | None = None
    """Of a node; None: nobody watches it."""


def asked(candidate: object) -> bool:
    """Whether this value of the data `candidate` asks for it; sound ones only, see `check`."""
    return candidate in (True, "yes")


KEYS = tuple(HostData.model_fields)
PLACE = ("pct_host", "pct_vmid")
"""The connector's own keys, which say which container a host is."""


def check(site: Path, hosts: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises `Refused` with every problem: of the hosts' data, else of their flag sets, else of
    what these make on one host. `site` is the directory that holds `locks/` and `group_data/`."""
    sound: dict[str, HostData] = {}
    problems: list[str] = []
    for name, data in hosts.items():
        try:
            ours = {key: value for key, value in data.items() if key in KEYS}
            sound[name] = HostData.model_validate(ours)
        except ValidationError as error:
            problems += [f"{name}: {_sentence(one)}" for one in error.errors()]
    _refuse(problems + list(_named_twice(hosts)))
    selection.releases(site, dict.fromkeys(f for data in sound.values() for f in data.flagsets))
    _refuse([f"{name}: {p}" for name, data in sound.items() for p in _misplaced(site, data)])


def recovery(hosts: Mapping[str, Any]) -> dict[str, Recovery]:
    """The data `recovery` of these hosts, by their names; None is the default.

    Nothing else of theirs is looked at: a flag set that is being written hinders no recovery.
    Raises `Refused` with every problem.
    """
    sound: dict[str, Recovery] = {}
    problems: list[str] = []
    for name, value in hosts.items():
        try:
            sound[name] = Recovery.model_validate({} if value is None else value)
        except ValidationError as error:
            problems += [f"{name}: recovery.{_sentence(one)}" for one in error.errors()]
    _refuse(problems)
    return sound


def _named_twice(hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Two hosts that are one container: a run would do everything there twice at once."""
    names: dict[tuple[Any, Any], str] = {}
    for name, data in hosts.items():
        place = (data.get(PLACE[0]), data.get(PLACE[1]))
        if None in place:
            continue
        if place in names:
            yield f"{name}: is container {place[1]} of {place[0]}, as {names[place]} is"
        names.setdefault(place, name)


def _refuse(problems: list[str]) -> None:
    if problems:
        raise Refused("\n".join(["cannot use the inventory; correct this host data:", *problems]))


def _sentence(error: Any) -> str:
    # Never the value itself: it may be a secret.
    place = ".".join(str(part) for part in error["loc"] if part != "[key]")
    return f"{place}: {error['msg'].removeprefix('Value error, ')}"


def _misplaced(site: Path, data: HostData) -> Iterator[str]:
    """What the units of these flag sets cannot be on one host, whichever Python it has."""
    flagsets = loading.load(site / "group_data" / "flagsets", data.flagsets)
    units = [unit for flagset in flagsets for unit in _units(flagset, data)]
    try:
        files_of(units)
    except Refused as error:
        yield str(error)
    names = {name for unit in units for name in (unit.name, unit.name.removesuffix(".service"))}
    for key in sorted(data.secrets.keys() - names - {"*"}):
        yield f"secrets.{key}: there is no such unit; there are: {', '.join(sorted(names)) or '-'}"


def _units(flagset: FlagSet, data: HostData) -> tuple[Any, ...]:
    somewhere = PurePosixPath("/opt")
    return units_of(flagset, somewhere, somewhere, data.service_user, data.secrets)
