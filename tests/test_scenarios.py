"""The table of recovery's scenarios, played by a small suite of its own."""

from pathlib import Path

import pytest

from tests.scenarios import LISTED, listed

pytest_plugins = ("pytester",)

SUITE = """
import pytest

@pytest.mark.scenario("L10", "K4")
def test_climbs(record_property):
    record_property("rung", "R2")
    record_property("rung", "R3")

@pytest.mark.scenario("K4")
@pytest.mark.parametrize("how", ["", pytest.param("x", marks=pytest.mark.scenario("L2"))])
def test_again(how):
    pass

@pytest.mark.scenario("L2", "S1")
def test_cannot_be_played_here():
    pytest.skip("not here")

@pytest.fixture
def untidy():
    yield
    raise RuntimeError("something was left")

@pytest.mark.scenario("D1")
def test_leaves_something(untidy):
    pass

def test_of_nothing_in_the_list():
    pass
"""


def told(pytester: pytest.Pytester, suite: str) -> list[str]:
    """The lines of a run of that suite."""
    board = "from tests.scenarios import Board\n"
    board += "def pytest_configure(config):\n    config.pluginmanager.register(Board())\n"
    pytester.makeini("[pytest]\nmarkers = scenario(ids): plays them\n")
    pytester.syspathinsert(Path(__file__).parents[1])
    pytester.makeconftest(board)
    pytester.makepyfile(suite)
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    return [*done.outlines, *done.errlines]


def test_each_scenario_is_one_row_with_result_rungs_and_number_of_tests(
    pytester: pytest.Pytester,
) -> None:
    lines = told(pytester, SUITE)
    begin = next(n for n, line in enumerate(lines) if "scenarios of recovery" in line)
    rows = [line.split() for line in lines[begin + 2 : begin + 7]]
    assert [(row[0], row[1]) for row in rows] == [
        ("S1", "skipped"),
        ("K4", "passed"),
        ("L2", "partly"),
        ("L10", "passed"),
        ("D1", "failed"),
    ]
    assert (rows[1][2], rows[1][4], rows[1][5]) == ("R2,R3", "unit", "3")
    assert lines[begin + 7].startswith(f"5 of {len(LISTED)}; not in this run: P1-P18 S2-S22 O1-")


def test_a_run_that_plays_none_prints_no_table(pytester: pytest.Pytester) -> None:
    assert "scenarios of recovery" not in "\n".join(told(pytester, "def test_a(): pass"))


def test_a_scenario_that_is_not_listed_stops_the_run(pytester: pytest.Pytester) -> None:
    suite = "import pytest\n@pytest.mark.scenario('L99')\ndef test_a(): pass\n"
    lines = told(pytester, suite)
    assert any("plays {'L99'}: not in the list" in line for line in lines)


def test_neighbours_are_told_as_a_range() -> None:
    assert listed(["L10", "L9", "P1", "S2", "S3", "S5"]) == "P1 S2-S3 S5 L9-L10"
    assert listed([]) == "none"
