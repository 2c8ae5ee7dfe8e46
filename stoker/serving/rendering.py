"""The files that a machine's units are made of, and the digest a running server carries."""

import functools
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from stoker.serving import layout, quoting
from stoker.serving.placement import refuse_conflicts
from stoker.serving.staging import Stage
from stoker.serving.unit import Unit

TEMPLATES = Path("templates")
"""Of the working directory, as pyinfra finds them: a site may have its own."""
INSIDE = Path(__file__).parent / "inside"
JOURNAL_CONF = """\
# Written by Stoker. Servers' logs outlive a reboot and never fill the disk.
[Journal]
Storage=persistent
SystemMaxUse=2G
MaxRetentionSec=3month
"""


@dataclass(frozen=True)
class File:
    """A file as it should lie in the container, owned by root."""

    path: PurePosixPath
    text: str = field(repr=False)
    mode: int = 0o644

    @property
    def sha256(self) -> str:
        """Of its bytes, hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def unit_text(unit: Unit) -> str:
    """The unit's file."""
    return rendered("sglang.service.j2", unit=unit)


def stage_text(stage: Stage) -> str:
    """The staging unit's file."""
    return rendered("sglang-stage.service.j2", stage=stage)


def rendered(template: str, **values: object) -> str:
    """A template of the site with these values in their places."""
    return _environment(TEMPLATES.absolute()).get_template(template).render(**values)


@functools.cache
def _environment(folder: Path) -> Environment:
    # Kept: compiling a template anew for each unit is most of what a comparison costs.
    return Environment(
        loader=FileSystemLoader(folder), undefined=StrictUndefined, keep_trailing_newline=True
    )


def digest(unit: Unit) -> str:
    """SHA-256 of all that makes the running server what it is: unit, secrets, launcher, staging.

    The server carries it in its environment as STOKER_DIGEST, so what it runs can be read.
    """
    parts = [unit_text(unit), _secret_lines(unit), _inside(layout.LAUNCHER).text]
    parts += [stage_text(unit.stage)] if unit.stage else []
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def env_text(unit: Unit) -> str:
    """The environment file: the digest and the secrets."""
    return quoting.env_file_line("STOKER_DIGEST", digest(unit)) + "\n" + _secret_lines(unit)


def files_of(units: Iterable[Unit]) -> tuple[File, ...]:
    """Every file that these units need, units last: what they name is there before them.

    Raises `Refused` if the units cannot live together on one machine.
    """
    units = tuple(units)
    return (*support_of(units), *own_files(units))


def support_of(units: Iterable[Unit]) -> tuple[File, ...]:
    """What all units share, none of it a server's own; raises `Refused` as `files_of` does."""
    units = tuple(units)
    refuse_conflicts(units)
    if not units:
        return ()
    gave_up = rendered("stoker-gave-up.service.j2", diagnose=layout.DIAGNOSE)
    put_back = rendered("stoker-put-back.service.j2", put_back=layout.PUT_BACK)
    support = [
        File(layout.JOURNAL, JOURNAL_CONF),
        File(layout.unit_file(layout.GAVE_UP), gave_up),
        _inside(layout.PUT_BACK, 0o755),
        File(layout.unit_file(layout.PUT_BACK_UNIT), put_back),
        File(layout.unit_file(layout.PUT_BACK_TIMER), rendered("stoker-put-back.timer.j2")),
        _inside(layout.LAUNCHER),
    ]
    if any(unit.gpus for unit in units):
        support.append(_inside(layout.GUARD))
    if any(unit.stage for unit in units):
        support.append(_inside(layout.STAGER, 0o755))
    return tuple(support)


def own_files(units: Iterable[Unit]) -> tuple[File, ...]:
    """The files that make these units what they are: unit, environment, staging."""
    units = tuple(units)
    stages = {unit.stage.name: unit.stage for unit in units if unit.stage}
    return (
        *(File(layout.unit_file(s.name), stage_text(s)) for s in stages.values()),
        *(File(PurePosixPath(u.env_file), env_text(u), 0o600) for u in units),
        *(File(layout.unit_file(u.name), unit_text(u)) for u in units),
    )


def _secret_lines(unit: Unit) -> str:
    return "".join(quoting.env_file_line(k, v) + "\n" for k, v in unit.secrets)


def _inside(path: PurePosixPath, mode: int = 0o644) -> File:
    return File(path, (INSIDE / path.name).read_text(encoding="utf-8"), mode)
