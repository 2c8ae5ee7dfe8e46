"""A node's settings that its GPUs' users feel; and, slow, what nvidia-smi says of them."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.health.node_seen import Gpu, Settings
from stoker.recovery.machine import STAND_IN

_LOOK = (Path(__file__).parent / "on_node" / "settings.py").read_text(encoding="utf-8")
# The sandbox's driver keeps its files elsewhere; a real node has no such folder.
_RUN = f"""
driver=
[ -d /sys/module/nvidia ] || [ ! -d {STAND_IN}/kernel ] || driver={STAND_IN}/kernel
timeout 10 /usr/bin/python3 -I -S -c "$1" "" "$driver" || true
"""
FIELDS = (
    "uuid",
    "pci.bus_id",
    "persistence_mode",
    "power.limit",
    "power.default_limit",
    "power.min_limit",
    "power.max_limit",
    "ecc.mode.current",
    "remapped_rows.pending",
    "remapped_rows.failure",
)
_SMI_S = 30


class NodeSettings(FactBase[Settings | None]):
    """`Settings`. Source: /sys/bus/pci, /proc/cmdline, modinfo, dpkg's status. None: no look."""

    def command(self) -> StringCommand:
        return StringCommand("sh", "-c", QuoteString(_RUN), "sh", QuoteString(_LOOK))

    def process(self, output: list[str]) -> Settings | None:
        return read("\n".join(output))


class SmiSettings(FactBase[list[dict[str, str]]]):
    """nvidia-smi's `FIELDS` of each GPU; it may take many seconds. None of them: it did not say."""

    @staticmethod
    def default() -> list[dict[str, str]]:
        return []

    def command(self) -> StringCommand:
        asked = f"--query-gpu={','.join(FIELDS)}"
        words = ("nvidia-smi", asked, "--format=csv,noheader,nounits")
        return StringCommand("timeout", "--kill-after=5", str(_SMI_S), *words, "2>&1", "|| true")

    def process(self, output: list[str]) -> list[dict[str, str]]:
        rows = [[word.strip() for word in line.split(",")] for line in output]
        return [dict(zip(FIELDS, row, strict=True)) for row in rows if len(row) == len(FIELDS)]


@dataclass(frozen=True)
class Daemon:
    """NVIDIA's persistence daemon as systemd has it."""

    name: str = "nvidia-persistenced.service"
    there: bool = False
    enabled: bool = False
    """Or it needs no enabling, since something else starts it."""
    active: bool = False


class Persistence(FactBase[Daemon]):
    """`Daemon`, by `systemctl show`."""

    @staticmethod
    def default() -> Daemon:
        return Daemon()

    def command(self) -> StringCommand:
        shown = "--property=LoadState,UnitFileState,ActiveState"
        return StringCommand("systemctl", "show", shown, Daemon.name)

    def process(self, output: list[str]) -> Daemon:
        said = dict(line.split("=", 1) for line in output if "=" in line)
        return Daemon(
            there=said.get("LoadState") == "loaded",
            enabled=said.get("UnitFileState") not in ("disabled", ""),
            active=said.get("ActiveState") in ("active", "activating"),
        )


def read(printed: str) -> Settings | None:
    """What the look printed; None: nothing that makes sense."""
    try:
        said: dict[str, Any] = ast.literal_eval(printed)
        gpus = tuple(
            Gpu(**{**one, "bridges": tuple(map(tuple, one["bridges"]))}) for one in said.pop("gpus")
        )
        packages = tuple(map(tuple, said.pop("packages")))
        return Settings(gpus=gpus, packages=packages, **said)
    except (ValueError, SyntaxError, TypeError, KeyError, AttributeError):
        return None
