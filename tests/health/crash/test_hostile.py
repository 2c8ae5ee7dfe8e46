"""Nothing that a log can hold makes the classifier slow, large or wrong in its counting."""

import json
import random
import time
import tracemalloc

import pytest

from stoker.health.crash import wording
from stoker.health.crash.diagnosing import diagnose
from stoker.health.crash.sieve import BORING, Sieve
from tests.health.crash.logs import LOAD, OOM, failed, program

MIB = 1024 * 1024
PIECES = (
    b"a",
    b" ",
    b"[",
    b"(",
    b"/",
    b": ",
    b"\0",
    b"\xff",
    b"\r",
    b"\t",
    b"a.",
    b"x y ",
    b"1",
    b"\x1b[",
    b"it/s]",
    b"NCCL WARN ",
    b"Traceback (most recent call last):",
    b'  File "',
    b": error: ",
    b"Warning: ",
    b"/python",
    b"NVRM: Xid (PCI:",
    b"Jan  1 00:00:00 ",
    b"[2026-04-14 05:12:02 ",
    b" with CUDA capability ",
)


@pytest.mark.parametrize("piece", PIECES, ids=[repr(piece) for piece in PIECES])
def test_a_line_of_a_megabyte_is_read_at_once(piece: bytes) -> None:
    began = time.process_time()
    diagnose([piece * (MIB // len(piece)), b"\n"])
    assert time.process_time() - began < 1


@pytest.mark.parametrize("piece", PIECES, ids=[repr(piece) for piece in PIECES])
def test_such_an_error_is_read_at_once(piece: bytes) -> None:
    log = failed("RuntimeError: HERE").encode().replace(b"HERE", piece * (20_000 // len(piece)))
    began = time.process_time()
    diagnose([log])
    assert time.process_time() - began < 1


def test_a_line_without_an_end_takes_no_memory() -> None:
    tracemalloc.start()
    diagnose(b"x" * MIB for _ in range(64))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * MIB


def test_of_lines_that_are_all_different_only_so_many_are_kept() -> None:
    sieve = Sieve(lambda number, raw, at: (BORING, False))
    letters = b"abcdefghijklmnop"
    for first in letters:
        lines = [bytes((first, a, b, c)) for a in letters for b in letters for c in letters]
        sieve.feed([b"\n".join(lines) + b"\n"])
    assert sieve.before == 16**4
    assert len(sieve.known) <= 4096


def test_the_cause_behind_a_very_long_line_has_the_right_number() -> None:
    log = program(LOAD).encode() + b"y" * (3 * MIB) + b"\n" + failed(OOM).encode()
    assert diagnose([log]).line == 7
    assert diagnose(log[at : at + 1000] for at in range(0, len(log), 1000)).line == 7


def test_any_bytes_come_to_some_verdict() -> None:
    chance = random.Random(11)
    real = (program(LOAD) + failed(OOM)).encode()
    for _ in range(60):
        log = bytearray(real)
        for _ in range(chance.randrange(1, 40)):
            log[chance.randrange(len(log))] = chance.randrange(256)
        whole = diagnose([bytes(log)])
        at = chance.randrange(len(log))
        assert diagnose([bytes(log[:at]), bytes(log[at:])]) == whole


def test_a_request_of_any_words_is_read_at_once() -> None:
    said = b"[2026-06-01 10:00:00] Receive: obj=GenerateReqInput(rid='%d', text='%s')\n"
    chance = random.Random(3)
    words = [bytes(chance.choices(b"abcdefghij :/", k=300)) for _ in range(1000)]
    log = program(LOAD).encode() + b"".join(said % (n, text) for n, text in enumerate(words)) * 20
    began = time.process_time()
    diagnose([log])
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("piece", ("-", "_key-", ".key", " key", '"'))
def test_a_line_is_shown_at_once(piece: str) -> None:
    began = time.process_time()
    assert len(wording.shown(piece * 16_384)) <= wording.LONGEST
    assert time.process_time() - began < 0.25


def test_a_time_that_never_was_is_none() -> None:
    log = (
        "[0000-01-01 10:00:00] hello\n[Mon Jan  1 10:00:00 0000] hello\nJun  1 10:00:00 ct-a x[1]: "
        + OOM
    )
    assert diagnose([log.encode()]).time is None


def test_half_a_character_in_a_line_of_json_can_be_written() -> None:
    lines = (
        "Traceback (most recent call last):",
        '  File "/a", line 9, in f',
        "TypeError: \ud800 x",
    )
    log = [json.dumps({"log": f"{line}\n"}, separators=(",", ":")) + "\n" for line in lines]
    assert diagnose(["".join(log).encode()]).text.encode() == b"TypeError: ? x"
