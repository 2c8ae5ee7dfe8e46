from dataclasses import dataclass, field, replace

from stoker.serving.following import Following, Patience, Verdict, waves


@dataclass(frozen=True)
class Seen:
    active: str = "active"
    sub: str = "running"
    queued: bool = False
    restarts: int = 0
    result: str = "success"
    status: int = 0
    invocation: str = "first"
    ticks: int = 0
    io_bytes: int = 0
    listens: bool = False
    cursor: str = "c0"
    lines: tuple[str, ...] = field(default=())
    began: bool = True


BASE = Seen()


def test_a_listening_server_is_to_be_asked() -> None:
    assert Following(0).judge(replace(BASE, listens=True), 1) is Verdict.ASK


def test_a_unit_whose_start_waits_for_its_model_is_not_dead() -> None:
    course = Following(0)
    waiting = replace(BASE, active="inactive", sub="dead", queued=True, invocation="")
    assert course.judge(waiting, 1) is Verdict.WAIT
    assert course.judge(BASE, 2) is Verdict.WAIT


def test_a_start_whose_staging_failed_is_dead() -> None:
    course = Following(0)
    course.judge(replace(BASE, active="inactive", queued=True, invocation=""), 1)
    gone = replace(BASE, active="inactive", sub="dead", result="dependency", invocation="")
    assert course.judge(gone, 2) is Verdict.DEAD


def test_a_death_shows_in_the_restart_even_if_the_next_process_runs() -> None:
    for after in (
        replace(BASE, active="failed"),
        replace(BASE, active="activating", sub="auto-restart"),
        replace(BASE, restarts=1),
        replace(BASE, invocation="second"),
    ):
        course = Following(0)
        course.judge(replace(BASE, lines=("the cause",)), 1)
        assert course.judge(after, 2) is Verdict.DEAD


def test_the_lines_told_are_the_dead_ones_not_the_next_starts() -> None:
    course = Following(0)
    course.judge(replace(BASE, lines=("cause",)), 1)
    course.judge(replace(BASE, invocation="second", lines=("fresh",)), 2)
    assert course.last and course.last.lines == ("cause",)
    course = Following(0)
    course.judge(BASE, 1)
    course.judge(replace(BASE, active="failed", lines=("cause", "traceback")), 2)
    assert course.last and course.last.lines == ("cause", "traceback")


def test_time_alone_ends_nothing_while_it_logs_or_works() -> None:
    course = Following(0, Patience(idle_s=300, silent_s=10**9))
    for second in range(0, 7200, 10):
        busy = replace(BASE, ticks=second * 50)
        assert course.judge(busy, second) is Verdict.WAIT
    course = Following(0)
    for second in range(0, 7200, 100):
        assert course.judge(replace(BASE, cursor=f"c{second}"), second) is Verdict.WAIT


def test_reading_a_model_from_disk_is_work() -> None:
    course = Following(0)
    for second in range(0, 1500, 10):
        reads = replace(BASE, io_bytes=second * (100 << 20))
        assert course.judge(reads, second) is Verdict.WAIT


def test_neither_lines_nor_work_is_a_stall() -> None:
    course = Following(0, Patience(idle_s=300))
    course.judge(BASE, 0)
    # A poll loop's few ticks are no work.
    assert course.judge(replace(BASE, ticks=299), 299) is Verdict.WAIT
    assert course.judge(replace(BASE, ticks=300), 301) is Verdict.STALLED
    assert course.why == "no log line and no work for 301 s"


def test_a_spinning_deadlock_is_a_stall_after_long_silence() -> None:
    course = Following(0, Patience(idle_s=300, silent_s=1800))
    verdicts = [course.judge(replace(BASE, ticks=s * 100), s) for s in range(0, 1801, 10)]
    assert verdicts[-2:] == [Verdict.WAIT, Verdict.STALLED]
    assert course.why == "busy, but no log line for 1800 s"


def test_a_server_that_listens_and_never_answers_stalls_with_its_error() -> None:
    course = Following(0, Patience(idle_s=300))
    course.judge(replace(BASE, listens=True), 0)
    course.judge(replace(BASE, listens=True), 400)
    assert course.unanswered("HTTP Error 503", 400) is Verdict.STALLED
    assert "and no token (HTTP Error 503)" in course.why


def test_one_of_each_flag_set_starts_first_then_all_its_sisters() -> None:
    units = [("a0", "a"), ("a1", "a"), ("b", "b"), ("a2", "a")]
    assert waves(units) == (("a0", "b"), ("a1", "a2"))
    assert waves([("a", "a")]) == (("a",),)
    assert waves([]) == ()
