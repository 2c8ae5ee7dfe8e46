import pytest

from stoker.health.crash import diagnosing, reading, sayings
from stoker.health.crash.glancing import Words, boring
from tests.health.crash import shared
from tests.health.crash.logs import DECODE, KILLED, OOM, READY, failed, journal, program, systemd

HEAD = b"Jun  1 10:00:00 ct-a sglang[1182]: [2026-06-01 10:00:00 TP0] "
SAYING = (
    b"torch.OutOfMemoryError: CUDA out of memory.",
    b"Traceback (most recent call last):",
    b"Scheduler hit an exception: Traceback (most recent call last):",
    b'  File "/x/a.py", line 1, in f',
    b"Load weight begin. avail mem=1 GB",
    b"Capture cuda graph begin.",
    b"The server is fired up and ready to roll!",
    b"Decode batch, #running-req: 1",
    b"Received sigquit from a child process.",
    b"SIGTERM received. signum=None",
    b"Fatal Python error: Bus error",
    b"Subprocess scheduler_0 (pid=7) crashed with exit code -9.",
    b"ct-a:21:21 [3] init.cc:11 NCCL WARN Duplicate GPU detected",
    b"[rank0]: OSError: x",
    b"ERROR:    [Errno 98] error while attempting to bind on address ('::', 1): address",
    b"sglang serve: error: unrecognized arguments: --x",
    b"/tmp/x.c:9:10: fatal error: Python.h: No such file or directory",
    b"nvcc fatal   : Unsupported gpu architecture 'compute_120a'",
    b"100%|##| 12/12 [00:01<00:00, 9.0it/s][2026-06-01 10:00:00 TP1] Scheduler hit an exception:",
    b"Failed to initialize NVML: Unknown Error",
    b"Watchdog timeout (self.watchdog_timeout=300)",
)
SILENT = (
    b"some words that say an error happened and memory failed",
    b"Some fallback token IDs for yes",
    b"Registering 0 cuda graph addresses",
)


def only(words: Words, line: bytes) -> bool:
    """Whether it is taken for words only."""
    return words.found([line], [line.translate(None, b"0123456789")], [0]) == [0]


@pytest.mark.parametrize("said", SAYING, ids=[said[:24].decode() for said in SAYING])
def test_what_may_matter_is_read(said: bytes) -> None:
    words = Words()
    for head in (HEAD, b"Jun  1 10:00:00 ct-a sglang[1182]: ", b"[2026-06-01 10:00:00] "):
        assert not boring(head + said)
        for _ in range(2):
            assert not only(words, head + said)


@pytest.mark.parametrize("said", SILENT)
def test_words_are_not_read(said: bytes) -> None:
    words = Words()
    only(words, HEAD + said)
    assert boring(HEAD + said) and only(words, HEAD + said)


def test_systemd_and_the_kernel_are_read() -> None:
    for line in (systemd(KILLED), journal("NVRM: Xid (PCI:0000:41:00): 79, GPU", ident="kernel")):
        assert not boring(line.encode())
        words = Words()
        assert not any(only(words, line.encode().rstrip()) for _ in range(2))


def test_a_glance_changes_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    served = (program(READY) + program(DECODE) + failed(OOM)).encode() * 3
    cases = [case for case in shared.cases() if not case.file.endswith(".gz")]
    seen = [*map(shared.verdict, cases), diagnosing.diagnose([served])]
    monkeypatch.setattr(reading, "boring", lambda raw: False)
    monkeypatch.setattr(reading.Reading, "_glance", lambda self: None)
    read = [diagnosing.diagnose([case.log()], case.version) for case in cases]
    assert [*read, diagnosing.diagnose([served])] == seen


@pytest.mark.parametrize("mark", [mark for mark, _, voice in sayings.SAYINGS if mark != " : "])
def test_a_glance_knows_every_sign_that_the_reading_looks_for(mark: str) -> None:
    line = HEAD + b"x: " + mark.encode() + b"y"
    words = Words()
    assert not boring(line)
    assert not any(only(words, line) for _ in range(2))


@pytest.mark.parametrize("end", [end for end, _ in sayings.ENDED])
def test_a_glance_knows_the_servers_words_about_its_end(end: str) -> None:
    assert not boring(HEAD + end.encode())


REQUEST = HEAD + b"Receive: obj=GenerateReqInput(text='error: no /python, CrashLoopBackOff', rid='7"


def test_a_request_in_one_line_is_words_whatever_it_says() -> None:
    words = Words()
    only(words, HEAD + SILENT[0])
    for end in (b"')", b"'}", b"']"):
        assert boring(REQUEST + end) and only(words, REQUEST + end)


def test_a_request_that_goes_on_in_the_next_line_is_read() -> None:
    words = Words()
    only(words, HEAD + SILENT[0])
    for end in (b"", b"')5", b"')\r[2026-06-01 10:00:00 TP0] Scheduler hit an exception: x)"):
        assert not boring(REQUEST + end) and not only(words, REQUEST + end)
