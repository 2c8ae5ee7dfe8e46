"""`stoker status`: which servers there are, and whether each answers with a token now."""

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

import gevent
from rich.console import Console
from rich.table import Table

from stoker.cli.hosts import connected
from stoker.facts.deaths import DeathReports, Deaths, UnitDeath, UnitDeaths
from stoker.facts.server_state import SERVES, first_of_loop, questions, state_of
from stoker.facts.servers import AskedServers, Server
from stoker.facts.startup import Answer, Tokens
from stoker.health import wording
from stoker.pct.closed import closed


@dataclass(frozen=True)
class Row:
    """One server of one host, or why there is none."""

    host: str
    unit: str = ""
    state: str = ""
    """As `state_of` says; missing (a flag set without a unit); of a host without rows of units:
    stopped, frozen, unreachable."""
    flagset: str = ""
    sglang: str = ""
    url: str = ""
    since: str = ""
    """ISO 8601, UTC; empty if it does not run."""
    pid: int | None = None
    """Main process, in the container's own numbering."""
    problem: str = ""
    answer: str = ""
    """What it said to `--ask`."""


def add_to(commands: Any) -> None:
    """Adds this command to the command line."""
    parser = commands.add_parser("status", help="show every server; exit 1 if one does not serve")
    parser.add_argument("inventory", help="an inventory file, such as inventory/lab.py")
    parser.add_argument("--limit", help="hosts or groups, * allowed, several by comma")
    parser.add_argument("--json", action="store_true", help="a JSON list instead of a table")
    parser.add_argument("--ask", metavar="TEXT", help="ask every server this and print its answer")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the servers; 1 if one does not serve or there is none."""
    with connected(arguments.inventory, arguments.limit) as (reached, lost):
        jobs = [gevent.spawn(rows_of, host, arguments.ask) for host in reached]
        rows = [row for job in gevent.joinall(jobs, raise_error=True) for row in job.value]
    rows += [Row(host.name, state="unreachable") for host in lost]
    if arguments.json:
        json.dump([asdict(row) for row in rows], sys.stdout, indent=2)
        print()
    else:
        _print(rows)
    return 0 if rows and all(row.state in SERVES for row in rows) else 1


def rows_of(host: Any, ask: str | None = None) -> list[Row]:
    """The servers of one host."""
    if shut := closed(host.connector):
        return [Row(host.name, state=shut.state, problem=shut.why)]
    servers: dict[str, Server] | None = host.get_fact(AskedServers, _ignore_errors=True)
    if servers is None:
        return [Row(host.name, state="unreachable", problem="it could not be asked; run again")]
    words: dict[str, Any] = {"prompt": ask, "max_tokens": 64} if ask else {}
    asked = questions(servers.values(), **words)
    answers = host.get_fact(Tokens, questions=asked, _ignore_errors=True) if asked else {}
    down = [unit for unit in sorted(servers) if unit not in answers or answers[unit].error]
    died = host.get_fact(DeathReports, _ignore_errors=True) if down else {}
    mute = tuple(unit for unit in down if unit in answers)
    judged = host.get_fact(UnitDeaths, units=mute, _ignore_errors=True) if mute else {}
    rows = [
        _row(host.name, servers[unit], answers.get(unit), ask, died.get(unit), judged.get(unit))
        for unit in sorted(servers)
    ]
    there = {server.flagset for server in servers.values()}
    lacking = [name for name in host.data.get("flagsets") or [] if name not in there]
    return rows + [Row(host.name, state="missing", flagset=name) for name in lacking]


def _problem(server: Server, state: str, answer: Answer | None, died: Deaths | None) -> str:
    """Why it does not answer, or how it ended and of what."""
    if state == "unreachable":
        return "it runs, but it could not be asked for a token; run again"
    again = first_of_loop(server, died.reports) if died and state == "restarting" else None
    if again:
        return f"{again.verdict.name}: {again.verdict.cause}"
    if answer:
        return answer.error or ""
    ended = server.result.replace("success", "")
    first = died.first(server.invocation) if died else None
    if server.active == "active" or first is None:
        return ended
    why = f"{first.verdict.name}: {first.verdict.cause}"
    return f"{ended}: {why}" if ended else why


def _row(
    host: str,
    server: Server,
    answer: Answer | None,
    ask: str | None,
    died: Deaths | None,
    judged: UnitDeath | None,
) -> Row:
    verdict = judged.verdict if judged else None
    state = state_of(server, answer, verdict, died.reports if died else ())
    return Row(
        host=host,
        unit=server.unit,
        state=state,
        flagset=server.flagset,
        sglang=server.sglang,
        url=server.url,
        since=server.since.isoformat() if server.since and server.main_pid else "",
        pid=server.main_pid,
        problem=_problem(server, state, answer, died),
        answer=answer.text if answer and ask else "",
    )


def _print(rows: list[Row]) -> None:
    # Where nobody watches, a table cut to 80 columns would only lose the URL.
    console = Console(width=None if sys.stdout.isatty() else 160)
    table = Table("host", "unit", "state", "flag set", "SGLang", "URL", "since")
    for row in rows:
        colour = (
            "green" if row.state == SERVES[0] else "yellow" if row.state == "loading" else "red"
        )
        state = f"[{colour}]{row.state}[/]"
        since = row.since.removesuffix("+00:00").replace("T", " ")
        table.add_row(row.host, row.unit, state, row.flagset, row.sglang, row.url, since)
    console.print(table)
    for row in rows:
        if row.problem:
            problem = wording.printable(row.problem)
            console.print(f"{row.host} {row.unit}: {problem}", markup=False)
        if row.answer:
            console.print(
                f"{row.host} {row.unit} says: {wording.printable(row.answer)}", markup=False
            )
