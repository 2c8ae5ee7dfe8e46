"""Why servers of a container died, as the container itself can tell."""

import json
from dataclasses import dataclass
from typing import Any

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.diagnosis import reports
from stoker.diagnosis.loops import loop
from stoker.diagnosis.reports import Report
from stoker.health.crash import report
from stoker.health.crash.death import Death
from stoker.health.crash.verdict import Verdict
from stoker.serving import layout

LIMIT_S = 120
"""For all units together; each bounds the reading of its own log."""
_ASK = """
[ -x "$1" ] || exit 0
limit=$2 diagnose=$1
shift 2
timeout "$limit" "$diagnose" units "$@"
true
"""
_REPORTS = """
cd "$1" 2>/dev/null || exit 0
for file in *.json; do
    [ -f "$file" ] || continue
    echo "Of=${file%.json}"
    echo "Seen=$(cat "${file%.json}.seen" 2>/dev/null)"
    cat "$file"
    echo
done
"""


@dataclass(frozen=True)
class UnitDeath:
    """A unit's last death, judged now; of a restart loop that has ended: its first one."""

    unit: str
    death: Death | None
    """None: it runs, or has never run."""
    verdict: Verdict
    """Of the log alone, to be `joined` with the death and the node's half."""
    reports: tuple[Report, ...]
    """Its last deaths as they were reported then, newest last."""
    last_lines: tuple[str, ...]
    """Of that start."""


class UnitDeaths(FactBase[dict[str, UnitDeath]]):
    """Unit -> `UnitDeath`, of these units or of every unit of ours. Source: diagnose.pyz there.

    `invocation`: judge this start of the unit. A container without diagnose.pyz gives `{}`; a unit
    whose line makes no sense, of another version or cut off by the time limit, is left out.
    """

    @staticmethod
    def default() -> dict[str, UnitDeath]:
        return {}

    def command(self, units: tuple[str, ...] = (), invocation: str = "") -> StringCommand:
        words = [str(layout.DIAGNOSE), str(LIMIT_S)]
        words += ["--invocation", invocation] if invocation else []
        return StringCommand(
            "sh", "-c", QuoteString(_ASK), "sh", *map(QuoteString, [*words, "--", *units])
        )

    def process(self, output: list[str]) -> dict[str, UnitDeath]:
        found = (_read(line) for line in output if line.startswith("{"))
        return {one.unit: one for one in found if one}


@dataclass(frozen=True)
class Deaths:
    """What a unit's file of reports holds."""

    reports: tuple[Report, ...]
    """Newest last."""
    seen: str
    """The invocation of the last one that was shown to somebody; empty: none was."""

    def first(self, invocation: str) -> Report | None:
        """Of the loop that ended with the death of this start, its first death; None: that start
        has not died, it runs or was stopped."""
        if not self.reports or self.reports[-1].invocation != invocation:
            return None
        return loop(self.reports)[0]

    @property
    def unseen(self) -> tuple[Report, ...]:
        """Those since."""
        ids = [one.invocation for one in self.reports]
        return self.reports[ids.index(self.seen) + 1 :] if self.seen in ids else self.reports


class DeathReports(FactBase[dict[str, Deaths]]):
    """Unit -> `Deaths`, of every unit that has ever died; quick. Source: /var/lib/stoker/deaths."""

    @staticmethod
    def default() -> dict[str, Deaths]:
        return {}

    def command(self) -> StringCommand:
        return StringCommand("sh", "-c", QuoteString(_REPORTS), "sh", str(layout.DEATHS))

    def process(self, output: list[str]) -> dict[str, Deaths]:
        files: dict[str, list[str]] = {}
        for line in output:
            if line.startswith("Of="):
                lines = files.setdefault(line[3:], [])
            else:
                lines.append(line)
        return {
            unit: Deaths(reports.parsed("\n".join(text)), seen.removeprefix("Seen="))
            for unit, (seen, *text) in files.items()
        }


def _read(line: str) -> UnitDeath | None:
    try:
        return _unit_death(json.loads(line))
    except (ValueError, KeyError, TypeError):
        return None


def _unit_death(told: dict[str, Any]) -> UnitDeath:
    return UnitDeath(
        unit=told["unit"],
        death=Death(**told["death"]) if told["death"] else None,
        verdict=report.from_json(told["verdict"]),
        reports=reports.parsed(json.dumps(told["reports"])),
        last_lines=tuple(told["last_lines"]),
    )
