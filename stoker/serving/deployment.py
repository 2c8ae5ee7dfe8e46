"""What one machine should serve, before it is known which Python it has."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stoker.serving import layout
from stoker.serving.flagset import FlagSet
from stoker.serving.lock import Release
from stoker.serving.placement import units_of
from stoker.serving.unit import Unit


@dataclass(frozen=True)
class Deployment:
    """Flag sets, each with the locks of its SGLang version."""

    flagsets: tuple[tuple[FlagSet, Release], ...]
    user: str = "sglang"
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    """Unit, or `*` for all -> secret's name -> secret."""

    def units(self, python: str) -> tuple[Unit, ...]:
        """The units on a machine whose interpreter is this version, `3.11`.

        Raises `Refused` if a version has no lock for it.
        """
        units: list[Unit] = []
        for flagset, release in self.flagsets:
            lock = release.lock_for(python)
            venv = layout.venv_path(lock)
            cuda_home = layout.cuda_home(venv, python)
            units += units_of(flagset, venv, cuda_home, self.user, self.secrets)
        return tuple(units)
