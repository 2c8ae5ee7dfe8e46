from pathlib import Path

from stoker.facts.startup import Answer, Look, Question, Startup, Tokens

RECORDED = Path(__file__).parent / "recorded"


def look(name: str) -> Look | None:
    return Startup().process((RECORDED / name).read_text().splitlines())


def test_a_serving_unit_listens_by_its_main_process() -> None:
    seen = look("startup-serving.txt")
    assert seen and seen.listens
    assert (seen.main_pid, seen.ticks, seen.queued) == (8841, 30, False)
    assert seen.cursor.startswith("-- cursor: ")
    assert seen.lines[-2].endswith("The server is fired up and ready to roll!")


def test_a_killed_unit_still_shows_the_lines_of_its_last_start() -> None:
    seen = look("startup-auto-restart.txt")
    assert seen and not seen.listens
    assert (seen.sub, seen.result, seen.status, seen.main_pid) == (
        "auto-restart",
        "signal",
        9,
        None,
    )
    assert seen.lines[-1] == "sglang@2.service: Failed with result 'signal'."


def test_an_unknown_unit_is_inactive_and_no_container_is_nothing() -> None:
    seen = look("startup-unknown.txt")
    assert seen and (seen.active, seen.invocation, seen.lines) == ("inactive", "", ())
    assert Startup().process([]) is None


def test_the_port_is_looked_for_as_the_kernel_writes_it() -> None:
    words = Startup().command("sglang.service", 30000).get_raw_value()
    assert " 7530 " in words


def test_a_question_holds_no_key_and_an_answer_is_told_by_its_unit() -> None:
    question = Question("sglang.service", "/v/bin/python", "http://127.0.0.1:1", "m", 42)
    command = Tokens().command((question,)).get_raw_value()
    assert command.startswith("/v/bin/python -I -c ")
    line = '{"unit": "sglang.service", "tokens": 1, "text": "fire", "error": null}'
    assert Tokens().process([line]) == {"sglang.service": Answer(1, "fire", None)}
    assert Tokens().process(["Traceback"]) == {}


def test_a_start_that_was_refused_before_it_began_never_had_a_main_process() -> None:
    seen = look("startup-not-begun.txt")
    assert seen and not seen.began
    assert (seen.sub, seen.result, seen.main_pid) == ("auto-restart", "exit-code", None)
    assert any(line.startswith("cannot start: GPU 0 uses 91002 MiB") for line in seen.lines)
    killed = look("startup-auto-restart.txt")
    assert killed and killed.began
