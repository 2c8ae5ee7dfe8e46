"""What says why a server died, in its container; and what has died while nobody looked."""

import time
from collections.abc import Generator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from pyinfra import host, logger, state
from pyinfra.api import FunctionCommand, QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand
from pyinfra.context import ctx_host

from stoker.diagnosis import bundle
from stoker.diagnosis.loops import loop
from stoker.diagnosis.reports import Report
from stoker.facts.deaths import DeathReports
from stoker.facts.files import FileState, FileStates
from stoker.health import wording
from stoker.operations import showing
from stoker.operations.atomic import written_bytes
from stoker.serving import layout

Commands = Generator[PyinfraCommand, None, None]

_SHOWN: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
"""Host -> lines: pyinfra asks twice without `-y`, to prepare and to execute."""
_SEEN = """
[ -d "$1" ] || exit 0
printf %s "$3" > "$1/.$2.seen" && mv -f -- "$1/.$2.seen" "$1/$2.seen"
"""


@operation()
def installed(units: bool) -> Commands:
    """`diagnose.pyz` of this version lies in the container; `units`: there are servers at all."""
    path = str(layout.DIAGNOSE)
    there = host.get_fact(FileStates, paths=(path,)).get(path)
    if not units or there == FileState(bundle.digest(), 0o755, "root:root"):
        host.noop(f"{path} is of this version" if units else "there are no servers")
        return
    yield from written_bytes(layout.DIAGNOSE, bundle.contents(), 0o755)


@operation()
def told() -> Commands:
    """Deaths of servers that nobody has seen yet are shown, a line a unit, once."""
    news = {u: found.unseen for u, found in host.get_fact(DeathReports).items() if found.unseen}
    if not news:
        host.noop("no server has died since the last run")
        return
    lines = [line(unit, deaths) for unit, deaths in sorted(news.items())]
    if not state.is_executing:
        _show(ctx_host.get(), lines)
    last = {unit: deaths[-1].invocation for unit, deaths in news.items()}
    yield FunctionCommand(show, [lines, last], {})


def show(state: Any, host: Any, lines: Sequence[str], last: dict[str, str]) -> bool:
    """Show them and remember up to where."""
    _show(host, lines)
    for unit, invocation in last.items():
        seen(host, unit, invocation)
    return True


def line(unit: str, deaths: Sequence[Report]) -> str:
    """What these deaths of a unit come to: the newest loop's first is what has to be cured."""
    first = loop(deaths)[0]
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(first.death.ended or first.time))
    died = "has died" if len(deaths) == 1 else f"has died {len(deaths)} times, the last of them"
    if len(loop(deaths)) > 1:
        died = f"has died {len(deaths)} times, the first in the last loop of restarts"
    return (
        f"{unit} {died} at {when}: {first.verdict.cause}; do: {first.verdict.action} "
        f"(stoker explain {first.verdict.name})"
    )


def seen(host: Any, unit: str, invocation: str) -> None:
    """The death of that start, and those before, are not shown again."""
    words = map(QuoteString, (str(layout.DEATHS), unit, invocation))
    host.run_shell_command(StringCommand("sh", "-c", QuoteString(_SEEN), "sh", *words))


def _show(host: Any, lines: Sequence[str]) -> None:
    shown = _SHOWN.setdefault(host, set())
    for text in (one for one in lines if one not in shown):
        shown.add(text)
        host.log(wording.shown(text, showing.LONGEST), log_func=logger.warning)
