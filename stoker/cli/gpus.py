"""`stoker gpus`: every GPU of every node, its memory, and who holds it since when."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import gevent
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stoker.cli.hosts import nodes
from stoker.facts.gpu_node import GpuNode, seen
from stoker.health.remarks import remarks
from stoker.health.seen import Gpu, Holder, Seen

_COLOURS = {"free": "green", "held": "white", "unknown": "yellow"}


@dataclass(frozen=True)
class Row:
    """One holder of one GPU; a GPU without holders has one row too."""

    node: str
    gpu: str = ""
    """nvidia-smi's number, else the PCI address."""
    uuid: str = ""
    used_mib: int | None = None
    total_mib: int | None = None
    pid: int | None = None
    """On the node."""
    who: str = ""
    """The process's name, or its whole command line in JSON's `command`."""
    command: str = ""
    since: str = ""
    """ISO 8601, UTC: when the process started."""
    container: str = ""
    """VMID and name, `VM 101`, or `host`; `may hold it` where only a control node is open."""
    unit: str = ""
    state: str = ""
    """free; held; above its baseline (memory without a holder); a holder's stuck kind; what the
    GPU itself reports; unknown; unreachable."""


def add_to(commands: Any) -> None:
    """Adds this command to the command line."""
    parser = commands.add_parser("gpus", help="show every node's GPUs and who holds them")
    parser.add_argument("inventory", help="an inventory file, such as inventory/lab.py")
    parser.add_argument("--limit", help="hosts or groups, * allowed, several by comma")
    parser.add_argument("--json", action="store_true", help="a JSON list instead of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the GPUs; 1 if a node could not be looked at."""
    with nodes("GPUs", arguments.inventory, arguments.limit) as (reached, lost):
        jobs = [gevent.spawn(_looked, host) for host in reached]
        looks = {job.value[0]: job.value[1] for job in gevent.joinall(jobs, raise_error=True)}
    rows = [row for name, look in looks.items() for row in rows_of(name, look)]
    rows += [Row(host.name, state="unreachable") for host in lost]
    if arguments.json:
        json.dump([asdict(row) for row in rows], sys.stdout, indent=2)
        print()
    else:
        _print(rows, [look for look in looks.values() if look])
    return 1 if lost or not all(looks.values()) else 0


def _looked(host: Any) -> tuple[str, Seen | None]:
    return host.name, seen(host.get_fact(GpuNode))


def rows_of(node: str, look: Seen | None) -> list[Row]:
    """The rows of one node; None: it could not be looked at."""
    if look is None:
        return [Row(node, state="unknown")]
    return [row for gpu in look.gpus for row in _rows(node, look, gpu)]


def _rows(node: str, look: Seen, gpu: Gpu) -> Iterator[Row]:
    about: dict[str, Any] = {
        "node": node,
        "gpu": gpu.bdf if gpu.index is None else str(gpu.index),
        "uuid": gpu.uuid,
        "used_mib": gpu.used_mib,
        "total_mib": gpu.total_mib,
    }
    holders = [holder for holder in look.holders if gpu.uuid in look.may_hold(holder)]
    for holder in holders:
        yield Row(
            **about,
            pid=holder.pid,
            who=holder.name,
            command=holder.command,
            since=datetime.fromtimestamp(holder.since, UTC).isoformat(timespec="seconds"),
            container=_where(look, holder) + ("" if holder.gpus else ", may hold it"),
            unit=holder.owner.unit,
            state=trouble(gpu) or holder.stuck.kind or "held",
        )
    if not holders:
        yield Row(**about, state=trouble(gpu) or _unheld(gpu))


def trouble(gpu: Gpu) -> str:
    """What the GPU itself reports, whoever holds it; empty: nothing."""
    if gpu.off_bus:
        return "off the bus"
    if gpu.binding not in ("nvidia", ""):
        return gpu.binding
    wanted = gpu.recovery_action if gpu.recovery_action not in (None, "None") else ""
    return gpu.error or (f"wants: {wanted}" if wanted else "")


def _unheld(gpu: Gpu) -> str:
    if gpu.over_baseline is None:
        return "unknown"
    return "above its baseline" if gpu.over_baseline else "free"


def _where(look: Seen, holder: Holder) -> str:
    owner = holder.owner
    if owner.kind == "host" or owner.vmid is None:
        return owner.kind
    if owner.kind == "vm":
        return f"VM {owner.vmid}"
    container = look.container(owner.vmid)
    return f"{owner.vmid} {container.name}" if container else str(owner.vmid)


def _print(rows: list[Row], looks: list[Seen]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 160)
    table = Table("node", "GPU", "memory MiB", "who", "since", "container", "unit", "state")
    for before, row in zip([None, *rows], rows, strict=False):
        # Another holder of the same GPU: that is said once.
        again = before is not None and (before.node, before.uuid) == (row.node, row.uuid)
        gpu = ("", "", "") if again and row.uuid else (row.node, row.gpu, _memory(row))
        who = f"{row.pid} {row.who}" if row.pid else ""
        since = row.since.removesuffix("+00:00").replace("T", " ")
        words = (*gpu, who, since, row.container, row.unit)
        colour = _COLOURS.get(row.state, "red")
        table.add_row(*map(escape, words), f"[{colour}]{escape(row.state)}[/]")
    console.print(table)
    for look in looks:
        for sentence in remarks(look, look.time):
            console.print(f"{look.node}: {sentence}", markup=False, highlight=False)


def _memory(row: Row) -> str:
    used, total = ("?" if value is None else str(value) for value in (row.used_mib, row.total_mib))
    return f"{used} of {total}" if row.uuid else ""
