"""The scenarios of recovery: which were played here, how each ended, on which rung, how fast.

A test names those it plays by `@pytest.mark.scenario("L3", "K4")`, ids of scenarios.yaml, at the
function, at its class or at one of its parameters, and tells each rung that it climbed by
`record_property("rung", "R3")`. The table is printed at the end of a run that played any.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

LISTED: dict[str, str] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())


@dataclass(frozen=True)
class Played:
    """What one test, or all tests of one scenario, made of it."""

    scenario: str
    result: str
    """`passed`, `failed`, `skipped`; of several tests `partly` too: the others were skipped."""
    rungs: frozenset[str]
    where: frozenset[str]
    """`unit`, `sandbox` (on real containers), `gpu`."""
    seconds: float
    tests: int = 1


def order(scenario: str) -> tuple[int, int]:
    """As the list goes by letters, then by number: L2 before L10."""
    letters = [name[0] for name in LISTED]
    return letters.index(scenario[0]), int(scenario[1:])


def listed(names: Iterable[str]) -> str:
    """Ids in order, in one line, neighbours as a range: `S1 S4-S6`."""
    ranges: list[list[str]] = []
    for name in sorted(names, key=order):
        last = ranges[-1][-1] if ranges else ""
        follows = last and order(last) == (order(name)[0], order(name)[1] - 1)
        ranges = [*ranges[:-1], [ranges[-1][0], name]] if follows else [*ranges, [name]]
    return " ".join("-".join(ends) for ends in ranges) or "none"


def played(item: pytest.Item) -> list[str]:
    """The scenarios that a test plays, each once."""
    marked = [name for marker in item.iter_markers("scenario") for name in marker.args]
    return list(dict.fromkeys(marked))


class Board:
    """Collects while tests run."""

    def __init__(self) -> None:
        self.tests: dict[str, list[Played]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> object:
        report: pytest.TestReport = yield  # type: ignore[misc]
        if report.when == "call" or not report.passed:
            self.tests[item.nodeid] = [outcome(name, item, report) for name in played(item)]
        return report

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """A scenario that is not in the list is a misprint."""
        for item in items:
            if unknown := set(played(item)) - set(LISTED):
                raise pytest.UsageError(f"{item.nodeid} plays {unknown}: not in the list")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        rows = merged(one for of_test in self.tests.values() for one in of_test)
        if rows:
            terminalreporter.section("scenarios of recovery")
            for line in table(rows):
                terminalreporter.write_line(line)


def outcome(scenario: str, item: pytest.Item, report: pytest.TestReport) -> Played:
    """What a test that has come so far made of a scenario; one that fails at its end failed."""
    told = [str(value) for name, value in report.user_properties if name == "rung"]
    rungs = frozenset(rung for value in told for rung in value.split(",") if rung)
    kinds = {marker.name for marker in item.iter_markers()} & {"sandbox", "gpu"}
    return Played(scenario, report.outcome, rungs, frozenset(kinds or {"unit"}), report.duration)


def merged(every: Iterable[Played]) -> list[Played]:
    """One row a scenario, in order: it passed if every test of it did."""
    of: dict[str, list[Played]] = {}
    for one in every:
        of.setdefault(one.scenario, []).append(one)
    rows = [
        Played(
            name,
            _result({one.result for one in tests}),
            frozenset[str]().union(*(one.rungs for one in tests)),
            frozenset[str]().union(*(one.where for one in tests)),
            sum(one.seconds for one in tests),
            len(tests),
        )
        for name, tests in of.items()
    ]
    return sorted(rows, key=lambda row: order(row.scenario))


def _result(results: set[str]) -> str:
    if "failed" in results:
        return "failed"
    return "partly" if results == {"passed", "skipped"} else results.pop()


def table(rows: list[Played]) -> list[str]:
    """The lines to print."""
    cells = [
        (
            row.scenario,
            row.result,
            ",".join(sorted(row.rungs)),
            f"{row.seconds:.2f}",
            ",".join(sorted(row.where)),
            str(row.tests),
            LISTED[row.scenario],
        )
        for row in rows
    ]
    whole = [("id", "result", "rung", "seconds", "where", "tests", "what"), *cells]
    widths = [max(len(line[column]) for line in whole) for column in range(7)]
    left = set(LISTED) - {row.scenario for row in rows}
    return [
        *("  ".join(map(str.ljust, line, widths)).rstrip() for line in whole),
        f"{len(rows)} of {len(LISTED)}; not in this run: {listed(left)}",
    ]
