"""Processes of others on a port or GPU of ours: named, and ended only when told to."""

import time
from collections.abc import Collection, Sequence
from typing import Any

import gevent
from pyinfra import logger
from pyinfra.api import OperationError, QuoteString, StringCommand

from stoker.facts.holders import Holder, Holders
from stoker.serving.unit import Unit

TERM_S = 60
KILL_S = 30


def in_the_way(
    holders: Sequence[Holder], units: Sequence[Unit], ours: Collection[str] = ()
) -> list[Holder]:
    """Who holds a port or GPU that these units want, and is neither one of them nor of `ours`.

    `ours` are the names of the other units that are wanted here. Their GPUs are theirs alone by
    plan, but the driver may have them open every GPU's node.
    """
    names = {*ours, *(unit.name for unit in units)}
    ports = {port for unit in units for port in (unit.port, unit.nccl_port)}
    gpus = {gpu for unit in units for gpu in unit.gpus}
    return [h for h in holders if h.unit not in names and (h.ports & ports or h.gpus & gpus)]


def clear_the_way(
    host: Any, units: Sequence[Unit], ours: Collection[str], stop_foreign: bool
) -> None:
    """Raises OperationError naming who is in the way; with `stop_foreign` servers are ended first.

    Only SGLang's own processes are ever ended: a training run listens on ports too.
    """
    foreign = _foreign(host, units, ours)
    if foreign and stop_foreign:
        strangers = _strangers(foreign)
        if strangers:
            raise OperationError(_sentence(units, strangers, "end it yourself: it is no server"))
        _end(host, units, ours, foreign)
        foreign = _foreign(host, units, ours)
    if foreign:
        advice = "stop it, or set stop_foreign = True for this host"
        raise OperationError(_sentence(units, foreign, advice))


def _foreign(host: Any, units: Sequence[Unit], ours: Collection[str]) -> list[Holder]:
    return in_the_way(host.get_fact(Holders), units, ours) if units else []


def _strangers(holders: Sequence[Holder]) -> list[Holder]:
    """Those that are neither a server nor a worker of one."""
    servers = {h.pid for h in holders if h.serves}
    return [h for h in holders if not h.serves and h.parent not in servers]


def _end(host: Any, units: Sequence[Unit], ours: Collection[str], foreign: list[Holder]) -> None:
    """TERM to each server's first process, which ends its workers; KILL to what is left of them."""
    pids = {h.pid for h in foreign}
    for holder in foreign:
        host.log(f"stopping {holder}", log_func=logger.warning)
        if holder.unit and _is_what_it_runs(host, holder):
            _run(host, "systemctl", "stop", "--no-block", "--", holder.unit)
        elif holder.parent not in pids:
            _run(host, "kill", "-TERM", str(holder.pid))
    if left := [h for h in _wait(host, units, ours, TERM_S) if h.pid in pids]:
        for holder in left:
            _run(host, "kill", "-KILL", str(holder.pid))
        _wait(host, units, ours, KILL_S)


def _is_what_it_runs(host: Any, holder: Holder) -> bool:
    """Whether the service exists for this process. What was started by hand where there is no
    logind, or by cron, is in ssh.service or cron.service: stopping that would end something else.
    """
    main = _run(host, "systemctl", "show", "-p", "MainPID", "--value", "--", holder.unit or "")
    return main.strip() in (str(holder.pid), str(holder.parent))


def _wait(host: Any, units: Sequence[Unit], ours: Collection[str], seconds: float) -> list[Holder]:
    ends = time.monotonic() + seconds
    while (left := _foreign(host, units, ours)) and time.monotonic() < ends:
        gevent.sleep(1)
    return left


def _run(host: Any, *words: str) -> str:
    # It may have ended by itself in between; whether it is gone is looked at, not assumed.
    _, output = host.run_shell_command(StringCommand(*map(QuoteString, words)))
    return str(output.stdout)


def _sentence(units: Sequence[Unit], holders: list[Holder], advice: str) -> str:
    ports = {p for unit in units for p in (unit.port, unit.nccl_port)}
    gpus = {gpu for unit in units for gpu in unit.gpus}
    lines = [f"cannot start {', '.join(u.name for u in units)}: others are in the way; {advice}:"]
    for holder in holders:
        held = [f"port {port}" for port in sorted(holder.ports & ports)]
        held += [f"GPU {gpu}" for gpu in sorted(holder.gpus & gpus)]
        lines.append(f"    {' and '.join(held)}: {holder}")
    return "\n".join(lines)
