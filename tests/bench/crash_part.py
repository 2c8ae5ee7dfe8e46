"""The third part: how fast, and in how much memory, a log comes to its cause."""

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterable, Iterator

from stoker.health.crash.diagnosing import diagnose

from . import machine, streams
from .report import Measurements, Part, of_aims
from .rows import Aim

TITLE = "From a log to its cause"
WANTED_MB_S = 50
WANTED_MIB = 64
_TRAFFIC, _ERRORS, _UNLIKE = "traffic", "every line holds `error`", "the same, no two lines alike"
_REQUESTS = "logged requests, no two alike"
_MARKED = "colons, slashes and quotes, no two lines alike"
_STREAMS: dict[str, tuple[Callable[[int], Iterator[bytes]], int]] = {
    _TRAFFIC: (streams.traffic, 500),
    _ERRORS: (streams.errors, 200),
    _UNLIKE: (streams.unlike, 50),
    _REQUESTS: (streams.requests, 52),
    _MARKED: (streams.marked, 52),
}
_LINE = 1024 * 1024
_PIECES = (
    b"a", b" ", b"[", b"/", b": ", b"\0", b"\xff", b"\r", b"a.", b"1", b"\x1b[", b"NCCL WARN ",
    b"Traceback (most recent call last):", b'  File "', b": error: ", b"NVRM: Xid (PCI:",
    b"[2026-04-14 05:12:02 ",
)  # fmt: skip


def measured() -> Part:
    """Each stream in a process of its own, so that its memory is its own."""
    found = {name: _apart(name) for name in _STREAMS}
    worst_ms, piece = max(_line_ms(piece) for piece in _PIECES)
    head = ("log", "MB", "processor seconds", "MB/s", "memory, MiB")
    lines = [
        (name, f"{mb:.0f}", f"{seconds:.2f}", f"{mb / seconds:.0f}", f"{mib:.0f}")
        for name, (mb, seconds, mib) in found.items()
    ]
    lines.append((f"one line of 1 MiB, the worst of {len(_PIECES)}: {piece!r}", "1",
                  f"{worst_ms / 1000:.3f}", "", ""))  # fmt: skip
    return Part(TITLE, _ABOUT, machine.told(), (Measurements(head, lines), of_aims(_aims(found))))


def _aims(found: dict[str, tuple[float, float, float]]) -> Iterable[Aim]:
    for name, (mb, seconds, _) in found.items():
        speed = mb / seconds
        yield Aim(name, f">= {WANTED_MB_S} MB/s", f"{speed:.0f} MB/s", speed >= WANTED_MB_S)
    most = max(mib for _, _, mib in found.values())
    yield Aim("memory of any of them", f"< {WANTED_MIB} MiB", f"{most:.0f} MiB",
              most < WANTED_MIB)  # fmt: skip


def _apart(name: str) -> tuple[float, float, float]:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_one, (name,))


def _one(name: str) -> tuple[float, float, float]:
    """Megabytes, processor seconds, and the most MiB that the process had."""
    stream, megabytes = _STREAMS[name]
    chunks = list(stream(4))
    diagnose(chunks)  # the patterns are compiled once in a process
    began = time.process_time()
    size = sum(map(len, chunks)) * (megabytes // 4)
    diagnose(chunk for _ in range(megabytes // 4) for chunk in chunks)
    seconds = time.process_time() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / streams.MB, seconds, most / 1024


def _line_ms(piece: bytes) -> tuple[float, bytes]:
    began = time.process_time()
    diagnose([piece * (_LINE // len(piece)), b"\n"])
    return (time.process_time() - began) * 1000, piece


_ABOUT = """\
`stoker diagnose` on logs that are made up of the lines of a real server, on one core, in processor
time. A line that differs from one already known to say nothing in its digits alone costs a look
into a table; words behind the server's prefix, and a logged request in one line, cost little more;
every other one is read. Text with colons, slashes and quotes that is no request may be what a
compiler, a shell or a loader says, so it is searched for two dozen signs of that. Memory is what
the whole process took at most; the first of them has the patterns' and the interpreter's share in
it too.
"""
