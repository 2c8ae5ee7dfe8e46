"""Real starts: what is predicted beside what SGLang logged."""

import statistics

import pytest

from tests.serving.memory.__main__ import SHARED
from tests.serving.memory.rows import logged_of, read, release
from tests.serving.memory.table import LIMIT, Result, lines, results

FILE = SHARED / "cases" / "memory.tsv"
ROWS = read(FILE) if FILE.is_file() else []
RESULTS = results(ROWS)

needs_rows = pytest.mark.skipif(not ROWS, reason="the recorded starts are not beside the clone")


def _named(result: Result) -> str:
    return result.row.cells["id"]


@pytest.mark.parametrize(
    "result", [result for result in RESULTS if result.logged_error is not None], ids=_named
)
def test_tokens_follow_from_the_memory_that_sglang_logged(result: Result) -> None:
    assert abs(result.logged_error or 0.0) <= LIMIT[result.row.cells["arch"]]


@pytest.mark.parametrize("result", [result for result in RESULTS if result.fails], ids=_named)
def test_a_start_that_failed_is_predicted_to_fail(result: Result) -> None:
    assert result.failure_predicted


@pytest.mark.parametrize("result", RESULTS, ids=_named)
def test_a_start_that_succeeded_is_never_predicted_to_fail(result: Result) -> None:
    assert result.fails or not result.failure_predicted


@pytest.mark.parametrize("result", RESULTS, ids=_named)
def test_the_bytes_of_a_token_are_those_of_the_log(result: Result) -> None:
    assert result.cell_error in (None, 0)


@needs_rows
def test_static_facts_alone_come_within_five_per_cent_in_the_median() -> None:
    errors = [abs(e) for result in RESULTS if (e := result.static_error) is not None]
    assert len(errors) >= 10
    assert statistics.median(errors) <= 5


@needs_rows
def test_what_stays_free_beside_the_pool_is_within_a_tenth_in_the_median() -> None:
    errors = [abs(e) for result in RESULTS if (e := result.left_error) is not None]
    assert statistics.median(errors) <= 0.11


@needs_rows
def test_every_row_that_gives_its_inputs_is_predicted() -> None:
    judged = {row.cells["id"] for row in ROWS if row.judged}
    assert judged == {_named(r) for r in RESULTS if r.logged_error is not None}


@needs_rows
def test_the_table_names_every_row() -> None:
    table = "\n".join(lines(RESULTS))
    assert all(row.cells["id"] in table for row in ROWS)


def test_two_logged_shortages_tell_the_memory_before_and_after_the_weights() -> None:
    logged = logged_of(
        dict.fromkeys(("avail_before_load_gb", "avail_after_load_gb"), "-")
        | {"notes": "start fails; log gives rest -3.05 at 0.30 and -12.59 at 0.12"}
    )
    assert logged is not None
    assert logged.before_gib == pytest.approx(53.0)
    assert logged.after_gib == pytest.approx(34.05)


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ("0.5.8.post1 (rocm720, 2026-02-26)", "0.5.8.post1"),
        ("2026-08-27 (about 0.5.18-0.5.20)", "0.5.20"),
        ("2025-07-14", "0.5.9"),
        ("2026-11-02", "0.5.23"),
    ],
)
def test_a_row_without_a_release_gets_the_one_of_its_day(told: str, version: str) -> None:
    assert release(told) == version
