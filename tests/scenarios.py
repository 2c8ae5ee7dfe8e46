"""The scenarios of recovery: which were played here, how each ended, on which rung, how fast.

A test names those it plays by `@pytest.mark.scenario("L3", "K4")`, ids of scenarios.yaml, and
tells the rung by `record_property("rung", "R3")`. The table is printed at the end of a run that
played any.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

LISTED: dict[str, str] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())


@dataclass(frozen=True)
class Played:
    """One scenario's outcome."""

    scenario: str
    result: str
    """passed, failed, skipped."""
    rung: str
    seconds: float


def order(scenario: str) -> tuple[str, int]:
    """Letter first, then number: L2 before L10."""
    return scenario[0], int(scenario[1:])


def listed(names: set[str]) -> str:
    """Ids in order, in one line."""
    return " ".join(sorted(names, key=order)) or "none"


class Board:
    """Collects while tests run."""

    def __init__(self) -> None:
        self.played: list[Played] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> object:
        report: pytest.TestReport = yield  # type: ignore[misc]
        marker = item.get_closest_marker("scenario")
        decides = report.when == "call" or (report.when == "setup" and not report.passed)
        if marker and decides:
            rung = str(dict(report.user_properties).get("rung", ""))
            self.played += [
                Played(name, report.outcome, rung, report.duration) for name in marker.args
            ]
        return report

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """A scenario that is not in the list is a misprint."""
        for item in items:
            for marker in item.iter_markers("scenario"):
                if unknown := set(marker.args) - set(LISTED):
                    raise pytest.UsageError(f"{item.nodeid} plays {unknown}: not in the list")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.played:
            return
        terminalreporter.section("scenarios of recovery")
        rows = merged(self.played)
        terminalreporter.write_line(f"{'id':<5}{'result':<9}{'rung':<8}{'seconds':>8}  what")
        for row in rows:
            said = f"{row.scenario:<5}{row.result:<9}{row.rung:<8}{row.seconds:>8.1f}"
            terminalreporter.write_line(f"{said}  {LISTED[row.scenario]}")
        left = set(LISTED) - {row.scenario for row in rows}
        terminalreporter.write_line(
            f"{len(rows)} of {len(LISTED)}; not in this run: {listed(left)}"
        )


def merged(played: list[Played]) -> list[Played]:
    """One row a scenario: it passed if every test of it did; its seconds are their sum."""
    rows = []
    for name in {row.scenario for row in played}:
        of = [row for row in played if row.scenario == name]
        results = {row.result for row in of}
        result = "failed" if "failed" in results else "passed" if "passed" in results else "skipped"
        rungs = sorted({row.rung for row in of} - {""})
        rows.append(Played(name, result, ",".join(rungs), sum(row.seconds for row in of)))
    return sorted(rows, key=lambda row: order(row.scenario))
