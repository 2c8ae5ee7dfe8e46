"""The arithmetic of the bench's table; the measurements themselves are `make bench`."""

from . import plan, report, ways
from .rows import STOKER, Measured, at_least, compared, medians, told, under
from .ways import Way


def _measured(tool: str, containers: int, seconds: float) -> Measured:
    return Measured(tool, containers, seconds, commands=81, pct_starts=0)


def test_a_ratio_is_taken_on_as_many_containers() -> None:
    rows = compared([_measured(STOKER, 1, 2.0), _measured(STOKER, 8, 5.0), _measured("A", 8, 400)])
    assert [row.ratio for row in rows] == [1.0, 1.0, 80.0]


def test_without_a_measurement_of_ours_there_is_no_ratio() -> None:
    (row,) = compared([_measured("A", 4, 100)])
    assert row.ratio is None
    assert report.cells_of(row) == ("A", "4", "100.0", "", "81", "0")


def test_our_rows_come_first_and_each_tool_goes_from_few_containers_to_many() -> None:
    taken = [("B", 8), (STOKER, 8), ("A", 1), (STOKER, 1), ("B", 1)]
    rows = compared([_measured(tool, containers, 1.0) for tool, containers in taken])
    found = [(row.measured.tool, row.measured.containers) for row in rows]
    assert found == [(STOKER, 1), (STOKER, 8), ("B", 1), ("B", 8), ("A", 1)]


def test_several_runs_count_with_their_median_and_of_two_the_slower_counts() -> None:
    three = [_measured(STOKER, 1, seconds) for seconds in (9.0, 1.0, 2.0)]
    two = [_measured("A", 1, seconds) for seconds in (3.0, 4.0)]
    assert [run.seconds for run in medians([*three, *two])] == [2.0, 4.0]


def test_an_aim_is_met_from_its_limit_on() -> None:
    rows = compared([_measured(STOKER, 1, 2.0), _measured("A", 1, 200), _measured("B", 1, 199)])
    assert at_least("A, 1", 100, rows, 1).met is True
    assert at_least("B, 1", 100, rows, 1).met is False
    assert (under("c", 3, 2.9, "ms").met, under("c", 3, 3.0, "ms").met) == (True, False)


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    rows = compared([_measured(STOKER, 1, 2.0)])
    assert at_least("A, 8", 80, rows, 8).met is None
    assert told("b", 600.0, "ms").met is None


def test_ours_runs_before_between_and_after_the_others() -> None:
    tools = [cell.tool for cell in plan.cells({8: (plan.SHIPPED, plan.PCT_EXEC)})]
    own = [plan.STOKER, plan.STOKER]
    assert tools == [*own, plan.SHIPPED, *own, plan.PCT_EXEC, *own]


def _part(title: str, *tables: report.Measurements) -> report.Part:
    return report.Part(title, "How.\n", "Here.", tables)


def test_the_page_holds_a_line_for_every_row_and_aim() -> None:
    rows = compared([_measured(STOKER, 1, 2.0), _measured("A", 1, 250.0)])
    aims = report.of_aims([at_least("A, 1 container", 100, rows, 1)])
    page = report.markdown(_part("Role", report.of_rows(rows), aims))
    assert page.startswith("## Role\n\nHow.\n\nHere.\n\n| tool |")
    assert "| A | 1 | 250.0 | 125.0 | 81 | 0 |\n" in page
    assert "| A, 1 container | >= 100x | 125x | met |\n" in page


def test_a_part_measured_alone_leaves_the_others_as_they_were() -> None:
    both = report.kept("", [_part("Role"), _part("Recovery")])
    other = report.Part("Recovery", "Else.\n", "There.", ())
    page = report.kept(both, [other])
    assert page.startswith("# The bench\n")
    assert page == report.kept("", [_part("Role"), other])
    assert report.kept(page, []) == page


def test_the_cheapest_and_the_median_run_of_a_way_are_told_by_what_counts() -> None:
    runs = [Way("ours", 9, 1.0), Way("lsof", 1, 7.0), Way("ours", 1, 3.0), Way("ours", 5, 2.0)]
    assert [way.cost for way in ways.cheapest(runs)] == [1.0, 7.0]
    assert [way.cost for way in ways.medians(runs)] == [2.0, 7.0]


def test_a_way_is_told_beside_ours_without_a_column_that_nobody_fills() -> None:
    table = report.of_ways(ways.cells([Way("ours", 4.0), Way("by hand", 2.0)], "ours"))
    assert table.head == ("way", "seconds", "times Stoker's")
    assert table.lines == [("ours", "4.00", "1.0"), ("by hand", "2.00", "0.5")]


def test_what_ours_takes_above_what_nobody_can_spare_is_the_promise() -> None:
    assert ways.above("x", 10, Way("ours", 15.0), Way("floor", 5.0)).met is True
    assert ways.above("x", 10, Way("ours", 15.1), Way("floor", 5.0)).met is False
