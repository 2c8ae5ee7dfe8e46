"""`stoker diagnose`: files as they come, one answer each, the worst exit code."""

import gzip
import io
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from stoker import cli
from stoker.cli import diagnose, logs
from stoker.health.crash.verdict import HEALTHY, Verdict

ROOT = Path(__file__).parents[2]
FAULT = Verdict("gpu_oom", "load", 3, "CUDA out of memory", "it is full", "less of it", "high")
FINE = Verdict(HEALTHY, "ready", None, "", "it is healthy", "do nothing", "high")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, bytes]]:
    """The log and kernel log of each call, in place of a diagnosis: what says oom is a fault."""
    calls: list[tuple[bytes, bytes]] = []

    def judged(chunks: Iterator[bytes], version: str = "", dmesg: Iterable[bytes] = ()) -> Verdict:
        calls.append((b"".join(chunks), b"".join(dmesg)))
        return FAULT if b"oom" in calls[-1][0] else FINE

    monkeypatch.setattr("stoker.health.crash.diagnosing.diagnose", judged)
    return calls


def put(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_healthy_log_ends_in_0_and_a_fault_in_1_with_its_paragraph(
    tmp_path: Path, read: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    fine, fault = put(tmp_path, "fine.log", "ready\n"), put(tmp_path, "oom.log", "oom\n")
    assert cli.main(["diagnose", fine]) == 0
    assert cli.main(["diagnose", fault]) == 1
    assert f"{fault}: it is full" in capsys.readouterr().out


def test_of_several_each_is_told_and_the_worst_decides(
    tmp_path: Path, read: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    names = [put(tmp_path, "a", "ready"), str(tmp_path / "absent"), put(tmp_path, "b", "oom")]
    assert cli.main(["diagnose", *names]) == 2
    told = capsys.readouterr()
    assert "it is healthy" in told.out and "it is full" in told.out
    assert told.err == f"cannot diagnose {names[1]}: there is no such file; correct its name\n"


def test_json_is_one_object_a_line_also_for_what_cannot_be_read(
    tmp_path: Path, read: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    names = [put(tmp_path, "a", "oom"), str(tmp_path), put(tmp_path, "c", "fine")]
    assert cli.main(["diagnose", "--json", *names]) == 2
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["file"] for one in told] == names
    assert [one["class"] for one in told] == ["gpu_oom", None, "none"]
    assert {"file", "class", "phase", "line", "cause", "action", "confidence"} <= told[0].keys()
    assert told[0].keys() - told[1].keys() <= {"text", "time", "details"}
    assert (
        told[1]["error"] == f"cannot diagnose {tmp_path}: it is a directory; name a log file in it"
    )


def test_gzip_is_known_by_its_first_bytes_in_several_members_and_cut_off(
    tmp_path: Path, read: list[tuple[bytes, bytes]]
) -> None:
    text = b"".join(b"line %d\n" % number for number in range(200_000))
    packed = gzip.compress(text[:1000]) + gzip.compress(text[1000:])
    assert cli.main(["diagnose", put(tmp_path, "packed.log", packed)]) == 0
    assert cli.main(["diagnose", put(tmp_path, "cut.log.gz", packed[:-1000])]) == 0
    assert read[0][0] == text
    assert text.startswith(read[1][0]) and len(read[1][0]) > 100_000


def test_a_packed_log_that_was_cut_off_is_said_to_be_and_a_whole_one_is_not(
    tmp_path: Path, read: list[tuple[bytes, bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    packed = gzip.compress(b"a" * (40 << 20))  # 1,000 times its size, so blocks end anywhere
    assert cli.main(["diagnose", put(tmp_path, "whole.gz", packed)]) == 0
    assert capsys.readouterr().err == ""
    assert len(read[0][0]) == 40 << 20
    assert cli.main(["diagnose", put(tmp_path, "cut.gz", packed[:-5000])]) == 0
    assert "the end of the log is missing" in capsys.readouterr().err


def test_standard_input_is_read_packed_or_not(
    tmp_path: Path, read: list[tuple[bytes, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (b"plain oom\n", gzip.compress(b"packed oom\n")):
        with open(put(tmp_path, "in", text), "rb") as stream:  # noqa: PTH123
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
            assert cli.main(["diagnose", "-"]) == 1
    assert [log for log, _ in read] == [b"plain oom\n", b"packed oom\n"]


def test_the_kernel_log_goes_with_every_log(
    tmp_path: Path, read: list[tuple[bytes, bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    dmesg = put(tmp_path, "dmesg.gz", gzip.compress(b"NVRM: Xid\n"))
    a, b = put(tmp_path, "a", "a"), put(tmp_path, "b", "b")
    assert cli.main(["diagnose", a, b, "--dmesg", dmesg]) == 0
    assert [kernel for _, kernel in read] == [b"NVRM: Xid\n"] * 2
    capsys.readouterr()
    assert cli.main(["diagnose", a, "--dmesg", str(tmp_path / "absent")]) == 2
    told = capsys.readouterr()
    assert (told.out, len(told.err.splitlines()), len(read)) == ("", 1, 2)


def test_standard_input_is_not_read_twice(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diagnose", "-", "--dmesg", "-"]) == 2
    assert capsys.readouterr().err.startswith("cannot read standard input twice: ")


_PACKED = gzip.compress(b"".join(b"line %d\n" % (n * n) for n in range(9000)))
DAMAGED = _PACKED[:3000] + b"damaged" * 99 + _PACKED[3700:]
NO_LOGS = {
    "empty": (b"", "it is empty"),
    "packed-empty": (gzip.compress(b""), "it is empty"),
    "elf": (Path(sys.executable).resolve().read_bytes()[:100_000], "it is a binary file"),
    "noise": (bytes(range(256)) * 400, "it is a binary file"),
    "zeros": (b"\0" * 100_000, "it is a binary file"),
    "xz": (b"\xfd7zXZ\0\0\4", "it is compressed by xz; unpack it first"),
    "zst": (b"\x28\xb5\x2f\xfd\4", "it is compressed by zstd; unpack it first"),
    "journal": (b"LPKSHHRH\0\0", "it is a journal of systemd; export it first"),
    "utf-16 unmarked": (
        "[2026-04-14 05:12:02] It died.\n".encode("utf-16-le") * 9,
        "it is text in UTF-16",
    ),
    "tar.gz": (gzip.compress(b"a/b.log".ljust(257, b"\0") + b"ustar  \0"), "it is a tar archive"),
    "damaged.gz": (DAMAGED, "its gzip data is damaged"),
}


@pytest.mark.parametrize("name", NO_LOGS)
def test_what_is_no_log_is_said_in_one_sentence(
    name: str, tmp_path: Path, read: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    content, why = NO_LOGS[name]
    path = put(tmp_path, name, content)
    assert cli.main(["diagnose", path]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"cannot diagnose {path}: {why}")
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"Gr\xfc\xdfe, broken \xff\xfe\x80 bytes\n" * 50,
        b"\x1b[32mINFO\x1b[0m\r\n 10%\r 20%\r\n" * 50,
        b"written before the crash\n" * 50 + b"\0" * 3000,
        "モデルを読み込んでいます\n".encode() * 50,
    ],
    ids=["no UTF-8", "colours", "zeros after a crash", "Japanese"],
)
def test_what_is_a_log_is_read_however_it_looks(
    content: bytes, tmp_path: Path, read: list[tuple[bytes, bytes]]
) -> None:
    assert cli.main(["diagnose", put(tmp_path, "log", content)]) == 0
    assert read[0][0] == content


def test_permission_denied_is_one_sentence(
    tmp_path: Path, read: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path, "secret.log", "x")

    def closed(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(logs.os, "open", closed)
    with pytest.raises(cli.Refused, match="permission denied; read it as a user who may"):
        diagnose.diagnosed(path)


def test_a_fifo_that_nobody_writes_to_is_not_waited_for(
    tmp_path: Path, read: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "fifo")
    began = time.monotonic()
    assert cli.main(["diagnose", str(tmp_path / "fifo")]) == 2
    assert time.monotonic() - began < 5
    assert "it is a FIFO that nobody writes to" in capsys.readouterr().err


def test_a_pipe_with_a_slow_writer_is_read_to_its_end() -> None:
    reader = "from stoker.cli import logs; print(b''.join(logs.chunks('/dev/fd/0')))"
    slowly = "{ sleep 0.2; echo first; sleep 0.2; echo last; } | "  # as bash's <(...)
    command = slowly + shlex.join([sys.executable, "-c", reader])
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, timeout=30)
    assert (done.stdout, done.stderr) == (b"b'first\\nlast\\n'\n", b"")


STOKER = [sys.executable, "-c", "import sys; from stoker.cli import main; sys.exit(main())"]


def test_it_needs_neither_pyinfra_nor_an_inventory(tmp_path: Path) -> None:
    log = put(tmp_path, "log", "nothing\n")
    script = (
        "import sys; from stoker import cli\n"
        f"code = cli.main(['diagnose', {log!r}])\n"
        "known = {'pyinfra', 'gevent', 'rich', 'yaml', 'pydantic', 'stoker.refused'}\n"
        "print(sorted(known & sys.modules.keys()))"
    )
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "['stoker.refused']"


def test_a_file_of_a_strange_name_is_told_in_both_forms(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/gr\xfc\xdfe\n.log")
    put(tmp_path, name, "nothing\n")
    for words in (["diagnose"], ["diagnose", "--json"]):
        done = subprocess.run([*STOKER, *words, name], cwd=ROOT, capture_output=True)
        assert (done.returncode, done.stderr) == (1, b"")


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    log = put(tmp_path, "log", "nothing\n")
    command = f"{shlex.join([*STOKER, 'diagnose', *[log] * 50])} | head -1"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True)
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="NOT TESTED: no /dev/full")
def test_an_answer_that_cannot_be_written_is_no_fault_of_the_log(tmp_path: Path) -> None:
    log = put(tmp_path, "log", "nothing\n")
    command = f"{shlex.join([*STOKER, 'diagnose', log])} >/dev/full"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True)
    told = "cannot write the answer: No space left on device; free some space\n"
    assert (done.returncode, done.stderr) == (2, told)


@pytest.mark.parametrize(
    ("name", "closed", "code"), [("log", ">&-", 1), ("log", "2>&-", 1), ("-", "<&-", 2)]
)
def test_a_closed_stream_is_no_traceback(name: str, closed: str, code: int, tmp_path: Path) -> None:
    name = name if name == "-" else put(tmp_path, name, "nothing\n")
    command = f"{shlex.join([*STOKER, 'diagnose', name])} {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


def test_a_name_moves_no_terminals_cursor(
    tmp_path: Path, read: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    name = put(tmp_path, "a\x1b[2J\nb", "oom")
    cli.main(["diagnose", name, f"{name}2"])
    told = capsys.readouterr()
    assert "a\N{MIDDLE DOT}[2J\N{MIDDLE DOT}b: it is full" in told.out
    assert "\x1b" not in told.out + told.err


def test_what_is_read_is_counted_for_the_progress(tmp_path: Path) -> None:
    counted: list[int] = []
    path = put(tmp_path, "log", b"x" * 1_000_000)
    assert sum(map(len, logs.chunks(path, counted.append))) == sum(counted) == 1_000_000


@pytest.mark.parametrize("command", [["diagnose", "x"], ["explain"]])
def test_what_nobody_expected_is_no_fault_of_a_log_and_one_sentence(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(arguments: object) -> int:
        raise RecursionError("too\ndeep")

    monkeypatch.setattr(f"stoker.cli.{command[0]}.run", broken)
    assert cli.main(command) == 2
    assert capsys.readouterr().err == (
        f"cannot {command[0]}: RecursionError: too deep; this is a fault of stoker's own, "
        "report it\n"
    )


def test_an_interrupt_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(first: list[str]) -> list[object]:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_commands", interrupted)
    assert cli.main(["diagnose", "x"]) == 130
    assert capsys.readouterr() == ("", "")
