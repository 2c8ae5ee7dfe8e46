"""How commands end, and what becomes of their output."""

import hashlib
import io
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from stoker.pct import errors
from stoker.pct.client import Node


def test_every_exit_code_is_exact(node: Node) -> None:
    assert [node.run(f"exit {code}").code for code in range(256)] == list(range(256))


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_death_by_a_signal_is_128_and_its_number(node: Node, number: int) -> None:
    assert node.run(f"kill -{int(number)} $$").code == 128 + number
    assert node.run("kill -9 $$", stdin=io.BytesIO(b"")).code == 137


def test_what_cannot_be_run_says_so(node: Node) -> None:
    missing, not_a_program = node.run(["no-such-program"]), node.run(["/etc/passwd"])
    assert (missing.code, not_a_program.code) == (127, 126)
    assert b"no-such-program" in missing.stderr
    assert node.run("if then (").code == 2


def test_streams_are_separate_and_clean(node: Node) -> None:
    data = os.urandom(300_000)
    for stdin in (data, data[:1], b""):
        text = "tee /dev/stderr"
        result = node.run(text, stdin=io.BytesIO(stdin))
        assert (result.code, result.stdout, result.stderr) == (0, stdin, stdin)


def test_binary_output_of_the_kept_shell_is_clean(node: Node) -> None:
    program = "import os,random; os.write(2, b'\\0\\r\\n\\xff'); os.sys.stdout.buffer.write("
    program += "random.Random(7).randbytes(300_000))"
    result = node.run(["/usr/bin/python3", "-c", program])
    assert result.stdout == random.Random(7).randbytes(300_000)
    assert result.stderr == b"\0\r\n\xff"


def test_large_output_comes_whole(node: Node) -> None:
    result = node.run(["seq", "1000000"])
    wanted = b"".join(b"%d\n" % n for n in range(1, 1_000_001))
    assert hashlib.sha256(result.stdout).digest() == hashlib.sha256(wanted).digest()


def test_without_stdin_it_reads_nothing(node: Node) -> None:
    assert node.run(["cat"]).stdout == b""


def test_a_program_that_does_not_read_its_stdin_is_no_trouble(node: Node) -> None:
    assert node.run(["true"], stdin=io.BytesIO(bytes(50 << 20))).code == 0


def test_fifty_megabytes_go_in_and_come_back(node: Node) -> None:
    data = os.urandom(1 << 20) * 50
    began = time.monotonic()
    assert node.run(["cat"], stdin=io.BytesIO(data)).stdout == data
    assert time.monotonic() - began < 15


def test_nothing_of_the_caller_or_of_an_earlier_command_is_seen(
    node: Node,
) -> None:
    node.run("cd /tmp; X=1; export X; umask 0; set -e; trap 'echo trap' EXIT; exec 7>&1")
    variables = node.run(["env"]).stdout.decode().splitlines()
    assert {line.partition("=")[0] for line in variables} == {"HOME", "LANG", "PATH", "PWD"}
    assert node.run("pwd; umask").stdout.decode().split() == [str(Path.home()), "0022"]
    assert node.run(["ls", "/proc/self/fd"]).stdout.split() == [b"0", b"1", b"2", b"3"]


def test_eight_at_once_do_not_wait_for_each_other(node: Node) -> None:
    codes: dict[int, tuple[int, bytes]] = {}

    def run(n: int) -> None:
        result = node.run(f"sleep 0.5; echo {n}; exit {n}")
        codes[n] = (result.code, result.stdout)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == {n: (n, b"%d\n" % n) for n in range(8)}
    assert time.monotonic() - began < 2.5


def test_output_is_handed_on_while_the_command_runs(node: Node) -> None:
    came: list[tuple[str, bytes, float]] = []
    node.run(
        "echo a; sleep 0.4; echo b >&2",
        on_output=lambda name, data: came.append((name, data, time.monotonic())),
    )
    assert [(name, data) for name, data, _ in came] == [("stdout", b"a\n"), ("stderr", b"b\n")]
    assert came[1][2] - came[0][2] > 0.3


def test_a_command_that_had_to_succeed_tells_its_code_and_its_last_words(node: Node) -> None:
    assert node.run("true").require("look").code == 0
    with pytest.raises(errors.CommandFailed, match=r"cannot look: .* ended with 3: no such thing;"):
        node.run("echo no such thing >&2; exit 3").require("look")
