import pytest

from stoker.health.crash.clock import epoch
from stoker.health.crash.peeling import peel

SAID = "Load weight begin. avail mem=1 GB"
WHEN = 1_780_308_000.0  # 2026-06-01 10:00:00 as if it were UTC


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "Jun  1 10:00:00 ct-a sglang[1182]: ",
        "Jun 01 10:00:00 ct-a sglang[1182]: ",
        "Jun 01 10:00:00.123456 ct-a sglang[1182]: ",
        "2026-06-01T10:00:00+0200 ct-a sglang[1182]: ",
        "2026-06-01T10:00:00.123456+02:00 ct-a python3[1182]: ",
        "Mon 2026-06-01 10:00:00 CEST ct-a sglang@0.service[1182]: ",
        "1780308000.123456 ct-a sglang[1182]: ",
        "[   12.345678] ct-a sglang[1182]: ",
        "<6>Jun  1 10:00:00 ct-a sglang[1182]: ",
        "2026-06-01T10:00:00.123456789Z ",
        "2026-06-01T10:00:00.123456789Z stdout F ",
        "sglang-1  | ",
    ],
)
@pytest.mark.parametrize("ranks", ["", " TP3", " DP0 TP1", " DP0 TP1 EP1", " PP0 TP1"])
def test_what_a_line_says_is_the_same_behind_every_prefix(prefix: str, ranks: str) -> None:
    line = peel(7, f"{prefix}[2026-06-01 10:00:00{ranks}] {SAID}".encode())
    assert (line.number, line.text, line.rank) == (7, SAID, ranks.strip())
    assert line.origin == "program" and line.dated
    assert epoch(line.stamp, line.year) == WHEN


@pytest.mark.parametrize(
    "prefix",
    [
        "Jun  1 10:00:00 pve1 kernel: ",
        "Jun  1 10:00:00 pve1 kernel: [ 1234.567890] ",
        "2026-06-01T10:00:00+0200 pve1 kernel: ",
        "1780308000.123456 pve1 kernel: ",
        "[ 1234.567890] ",
        "[Mon Jun  1 10:00:00 2026] ",
        "",
    ],
)
def test_a_line_of_the_kernel_is_known_by_its_prefix_or_its_driver(prefix: str) -> None:
    line = peel(1, f"{prefix}NVRM: Xid (PCI:0000:41:00): 31, pid=9".encode())
    assert (line.origin, line.text) == ("kernel", "NVRM: Xid (PCI:0000:41:00): 31, pid=9")


def test_a_time_without_a_year_is_no_moment() -> None:
    line = peel(1, b"Jun  1 10:00:00 ct-a sglang[1182]: x")
    assert line.stamp is not None and epoch(line.stamp, line.year) is None


@pytest.mark.parametrize(
    ("raw", "voice", "rank", "text"),
    [
        (b"ct-a:21:21 [3] init.cc:11 NCCL WARN Duplicate GPU", "nccl", "", "Duplicate GPU"),
        (b"[2026-06-01 10:00:00] ct-a:21:21 [3] NCCL WARN Oh", "nccl", "", "Oh"),
        (b"ct-a:21:21 [3] NCCL INFO fine", "info", "", "fine"),
        (b"[rank1]:[E416 10:10:05.412 P.cpp:688] [Rank 1] W", "torch", "rank1", "[Rank 1] W"),
        (b"[rank1]: OSError: x", "", "rank1", "OSError: x"),
        (b"ERROR:    [Errno 98] x", "", "", "[Errno 98] x"),
        (b"\x1b[31mred\x1b[0m\r", "", "", "red"),
        (b"#033[31mred#033[0m", "", "", "red"),
        (b"10%\r20%\r30%", "", "", "30%"),
        (
            b"lxc-start: 200: ../src/lxc/conf.c: mount_entry: 2445 No",
            "",
            "",
            "mount_entry: 2445 No",
        ),
    ],
)
def test_who_else_speaks(raw: bytes, voice: str, rank: str, text: str) -> None:
    line = peel(1, raw)
    assert (line.voice, line.rank, line.text) == (voice, rank, text)
