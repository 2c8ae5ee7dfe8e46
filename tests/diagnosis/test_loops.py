from stoker.diagnosis.loops import SHORT_S, loop
from tests.diagnosis.deaths import death, report


def test_three_short_lives_in_a_row_are_one_loop_and_its_first_counts() -> None:
    deaths = [report(n, 1000.0 + 100 * n) for n in range(3)]
    assert loop(deaths) == tuple(deaths)


def test_what_served_for_days_before_it_died_is_the_first_of_the_loop_it_began() -> None:
    early = report(0, 1000.0)
    served = report(1, 900_000.0, lived=800_000)
    after = [report(2, 900_100.0), report(3, 900_200.0)]
    assert loop([early, served, *after]) == (served, *after)


def test_a_start_by_hand_begins_another_loop() -> None:
    old = [report(0, 1000.0), report(1, 1100.0)]
    new = [report(0, 2000.0), report(1, 2100.0)]
    assert loop([*old, *new]) == tuple(new)


def test_a_report_that_is_missing_does_not_cut_the_loop() -> None:
    deaths = [report(0, 1000.0), report(2, 1200.0)]
    assert loop(deaths) == tuple(deaths)


def test_a_single_long_life_is_a_loop_of_one_and_no_death_is_none() -> None:
    long = report(5, 9_000_000.0, lived=SHORT_S + 1)
    assert loop([report(4, 1000.0), long]) == (long,)
    assert loop([]) == ()


def test_a_start_that_never_ran_lived_shortly() -> None:
    never = report(1, 1100.0, death=death(1, code="", status="", started=None))
    assert loop([report(0), never]) == (report(0), never)
