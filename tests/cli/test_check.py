"""`stoker check`: files as they come, a verdict each, the worst exit code."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stoker import cli
from stoker.serving.checking import written
from stoker.serving.checking.reason import Reason, Verdict

ROOT = Path(__file__).parents[2]
CASE = 'sglang: "0.5.12"\nflags: [--model-path, /m]\n'
REFUSED = Verdict((Reason("flag_unknown", "refuse", "--x is none", "use --y"),))


def put(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of a judgement: what says `bad` is refused."""

    def judged(stem: str | None, text: str, *_: object) -> Verdict:
        return REFUSED if "bad" in text else Verdict()

    monkeypatch.setattr(written, "verdict", judged)


@pytest.mark.usefixtures("verdicts")
def test_of_several_each_is_told_and_the_worst_decides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fine, bad = put(tmp_path, "a.yaml", "ok"), put(tmp_path, "b.yaml", "bad")
    assert cli.main(["check", fine]) == 0
    assert cli.main(["check", fine, bad]) == 1
    out = capsys.readouterr().out
    assert f"{fine}: ok\n\n{bad}: refuse\n  refuse flag_unknown: --x is none" in out
    assert cli.main(["check", bad, str(tmp_path / "none.yaml"), fine]) == 2
    told = capsys.readouterr()
    assert "there is no such file; correct its name" in told.err and f"{fine}: ok" in told.out


@pytest.mark.usefixtures("verdicts")
def test_json_is_one_object_a_line_also_for_what_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [put(tmp_path, "a.yaml", "bad"), str(tmp_path), put(tmp_path, "c.yaml", "ok")]
    assert cli.main(["check", "--json", *names]) == 2
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["file"] for one in told] == names
    assert [one["verdict"] for one in told] == ["refuse", None, "ok"]
    assert (
        told[0]["reasons"][0].items()
        >= {
            "class": "flag_unknown",
            "message": "--x is none",
            "hint": "use --y",
        }.items()
    )
    assert told[1]["reasons"] == []
    assert told[1]["error"] == f"cannot check {tmp_path}: it is a directory; name a file in it"


def test_a_pipe_is_read_as_the_shell_names_it() -> None:
    script = "import sys; from stoker.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", script, "check", "/dev/fd/0"]
    done = subprocess.run(words, cwd=ROOT, input=CASE, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("/dev/fd/0: "), done.stderr


@pytest.mark.usefixtures("verdicts")
def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with open(put(tmp_path, "in", "bad"), "rb") as stream:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        assert cli.main(["check", "-"]) == 1


def test_standard_input_is_not_read_twice(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "-", "--facts", "-"]) == 2
    assert capsys.readouterr().err.startswith("cannot read standard input twice: ")


HOSTILE = {
    "binary": (b"\x7fELF\x02\x01\x01\xff\xfe", "it is not UTF-8: byte 7; name a text"),
    "zeros": (b"\0" * 1000, "it is not YAML: unacceptable character #x0000"),
    "empty": (b"", "it is neither a flag set nor a case"),
    "prose": (b"Dear operator,\n", "it is neither a flag set nor a case"),
    "other yaml": (b"services: {web: {}}\n", "it is neither a flag set nor a case"),
    "a list": (b"- a\n- b\n", "it is neither a flag set nor a case"),
    "huge": (b"a: " + b"x" * 300_000, "it is larger than any flag set"),
    "deep": (b"flags: " + b"[" * 100_000, "it is nested too deeply"),
    "aliases": (b"a: &a [x]\nb: &b [*a, *a]\nflags: [*b, *b]\n", "an alias stands for another"),
    "kinds": (
        b"sglang: 0.5.12\nflags: []\ngpu: 3\nhost: []\n",
        "says what cannot be: gpu: is no mapping",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_hostile_ends_in_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, why = HOSTILE[name]
    path = put(tmp_path, "x.yaml", content)
    assert cli.main(["check", path]) == 2
    told = capsys.readouterr()
    assert told.out == "" and len(told.err.splitlines()) == 1
    assert told.err.startswith(f"cannot check {path}: ") and why in told.err


def test_what_would_move_a_terminals_cursor_is_shown_as_dots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = 'sglang: "0.5.12"\nflags: ["--x\\e[2J"]\n"\\e]0;title\\a": 1\n'
    cli.main(["check", put(tmp_path, "\x1b[31mred.yaml", evil)])
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err and "red.yaml" in told.out


def test_a_fifo_and_an_endless_device_are_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert cli.main(["check", str(fifo)]) == 2
    assert "it is a FIFO that nobody writes to" in capsys.readouterr().err
    assert cli.main(["check", "/dev/zero"]) == 2
    assert "it is larger than any flag set" in capsys.readouterr().err


def test_a_file_of_facts_that_is_wrong_is_said_before_any_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case, facts = put(tmp_path, "a.yaml", CASE), put(tmp_path, "facts.yaml", "hosts: {}\ngpu: 3\n")
    assert cli.main(["check", case, "--facts", facts]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "gpu: is no mapping of keys" in told.err and "hosts: unknown key" in told.err


def test_a_fault_of_our_own_is_no_refusal_and_no_ok(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> Verdict:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(written, "verdict", broken)
    assert cli.main(["check", put(tmp_path, "a.yaml", CASE)]) == 2
    assert "a fault of stoker's own" in capsys.readouterr().err


def test_problems_of_a_flag_set_are_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "name: b\nsglang: 0.5.12\nmodel: {path: /m}\nplacement: {layout: cpu}\nport: 30000\n"
    path = put(tmp_path, "a.yaml", text + "flags: {tp: 8, api-key: x, device: cpu, speck: 1}\n")
    assert cli.main(["check", "--json", path]) == 1
    told = json.loads(capsys.readouterr().out)
    classes = {reason["class"] for reason in told["reasons"]}
    # What the file may not say hides nothing of the rest.
    assert classes == {"flagset_invalid", "flag_abbreviated", "flag_unknown"}
    assert any("api-key: is not set here" in reason["message"] for reason in told["reasons"])


def test_a_check_imports_neither_pyinfra_nor_what_only_a_flag_set_needs(tmp_path: Path) -> None:
    program = (
        "import sys; from stoker import cli; code = cli.main(sys.argv[1:])\n"
        "heavy = {'pyinfra', 'gevent', 'pydantic', 'jinja2', 'rich'} & {*sys.modules}\n"
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    words = [sys.executable, "-c", program, "check", put(tmp_path, "a.yaml", CASE)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
