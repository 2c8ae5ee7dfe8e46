"""`stoker status`: which servers there are, and whether each answers with a token now."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import gevent
from rich.console import Console
from rich.table import Table

from stoker.cli.hosts import connected
from stoker.facts.deaths import DeathReports, Deaths
from stoker.facts.servers import Server, Servers
from stoker.facts.startup import Answer, Question, Tokens
from stoker.pct.errors import PctError

SERVING = "serving"


@dataclass(frozen=True)
class Row:
    """One server of one host, or why there is none."""

    host: str
    unit: str = ""
    state: str = ""
    """serving, outdated (serves, but not what is on disk), loading, restarting, failed, stopped,
    missing (a flag set without a unit), unreachable."""
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
    return 0 if rows and all(row.state in (SERVING, "outdated") for row in rows) else 1


def rows_of(host: Any, ask: str | None = None) -> list[Row]:
    """The servers of one host."""
    if problem := _closed(host):
        return [Row(host.name, state="unreachable", problem=problem)]
    servers: dict[str, Server] = host.get_fact(Servers)
    questions = tuple(_questions(servers, ask))
    answers = host.get_fact(Tokens, questions=questions) if questions else {}
    down = any(server.active != "active" for server in servers.values())
    died = host.get_fact(DeathReports) if down else {}
    rows = [
        _row(host.name, servers[unit], answers.get(unit), ask, died.get(unit))
        for unit in sorted(servers)
    ]
    there = {server.flagset for server in servers.values()}
    lacking = [name for name in host.data.get("flagsets") or [] if name not in there]
    return rows + [Row(host.name, state="missing", flagset=name) for name in lacking]


def _closed(host: Any) -> str:
    """Why nothing can be asked there, in a sentence; empty if it can.

    A fact would not tell: it takes its default where the container is stopped or absent.
    """
    vmid = getattr(host.connector, "vmid", None)
    if vmid is None:
        return ""
    try:
        host.connector.node.run("true", vmid=vmid)
    except PctError as error:
        return str(error)
    return ""


def _questions(servers: dict[str, Server], ask: str | None) -> Iterator[Question]:
    for server in servers.values():
        if server.active == "active" and server.main_pid and server.words:
            words = {"prompt": ask, "max_tokens": 64} if ask else {}
            yield Question(
                server.unit,
                server.words[0],
                server.local_url,
                server.model,
                server.main_pid,
                **words,  # type: ignore[arg-type]
            )


def state_of(server: Server, answer: Answer | None) -> str:
    """The state in one word; see `Row.state`."""
    if server.sub == "auto-restart":
        return "restarting"
    if server.active == "active":
        if answer is None or answer.error:
            return "loading"
        return SERVING if server.running_digest == server.disk_digest else "outdated"
    return {"failed": "failed", "activating": "loading"}.get(server.active, "stopped")


def _problem(server: Server, answer: Answer | None, died: Deaths | None) -> str:
    """Why it does not answer, or how it ended and of what."""
    if answer:
        return answer.error or ""
    ended = server.result.replace("success", "")
    first = died.first(server.invocation) if died else None
    if server.active == "active" or first is None:
        return ended
    why = f"{first.verdict.name}: {first.verdict.cause}"
    return f"{ended}: {why}" if ended else why


def _row(
    host: str, server: Server, answer: Answer | None, ask: str | None, died: Deaths | None
) -> Row:
    return Row(
        host=host,
        unit=server.unit,
        state=state_of(server, answer),
        flagset=server.flagset,
        sglang=server.sglang,
        url=server.url,
        since=server.since.isoformat() if server.since and server.main_pid else "",
        pid=server.main_pid,
        problem=_problem(server, answer, died),
        answer=answer.text if answer and ask else "",
    )


def _print(rows: list[Row]) -> None:
    # Where nobody watches, a table cut to 80 columns would only lose the URL.
    console = Console(width=None if sys.stdout.isatty() else 160)
    table = Table("host", "unit", "state", "flag set", "SGLang", "URL", "since")
    for row in rows:
        colour = "green" if row.state == SERVING else "yellow" if row.state == "loading" else "red"
        state = f"[{colour}]{row.state}[/]"
        since = row.since.removesuffix("+00:00").replace("T", " ")
        table.add_row(row.host, row.unit, state, row.flagset, row.sglang, row.url, since)
    console.print(table)
    for row in rows:
        if row.problem:
            problem = _printable(row.problem)
            console.print(f"{row.host} {row.unit}: {problem}", markup=False)
        if row.answer:
            console.print(f"{row.host} {row.unit} says: {_printable(row.answer)}", markup=False)


def _printable(text: str) -> str:
    """On one line, without what would move a terminal's cursor; a tiny random model says it all."""
    return "".join(letter if letter.isprintable() else "\N{MIDDLE DOT}" for letter in text)
