"""What a user sent is logged as it is, and another unit fails in the same journal."""

import pytest

from stoker.health.crash.diagnosing import diagnose

READY = "[2026-07-01 05:00:00] The server is fired up and ready to roll!"
OPENED = "[2026-07-01 05:02:00] Receive: obj=GenerateReqInput(text='why?"
CLOSED = "help me', rid='b2')"
ALIVE = '[2026-07-01 05:02:09] INFO:     10.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK'
DEATH = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
SAID = (
    "launch_server.py: error: unrecognized arguments: --foo 3",
    "/tmp/x/main.c:4:10: fatal error: Python.h: No such file or directory",
    "Failed to initialize NVML: Driver/library version mismatch",
    "NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus.",
    "[12345.678901] NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus.",
    "Jun  1 10:00:00 ct-b systemd[1]: sglang-b.service: Failed with result 'oom-kill'.",
    "[2026-06-01 10:00:01] Received sigquit from a child process.",
    "Killed",
    f"Traceback (most recent call last):\n  g()\n{DEATH}",
)


def name_of(*lines: str) -> str:
    return diagnose(["\n".join(lines).encode()]).name


@pytest.mark.parametrize("said", SAID)
def test_the_lines_of_a_request_are_no_words_of_the_servers(said: str) -> None:
    assert name_of(READY, OPENED, said, CLOSED, ALIVE) == "none"


def test_a_request_in_one_line_hides_nothing_that_follows() -> None:
    whole = "[2026-07-01 05:02:00] Receive: obj=GenerateReqInput(text='why?', rid='b2')"
    assert name_of(READY, whole, f"Traceback (most recent call last):\n{DEATH}") == "kv_pool_small"


def test_a_line_with_a_later_time_ends_a_request() -> None:
    hit = "[2026-07-01 05:02:03 TP0] Scheduler hit an exception: Traceback (most recent call last):"
    assert name_of(READY, OPENED, hit, DEATH) == "kv_pool_small"


def test_in_a_journal_the_kernel_speaks_for_itself() -> None:
    at = "Jul  1 05:02:00"
    lost = f"{at} pve1 kernel: NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus."
    assert name_of(f"{at} ct-a sglang[7]: {OPENED}", lost) == "gpu_lost"


@pytest.mark.parametrize("unit", ["fwupd", "apt-daily", "nginx"])
def test_another_units_failure_is_not_the_servers(unit: str) -> None:
    at = "Jul  1 05:02:00 ct-a"
    began = f"{at} systemd[1]: Started sglang@0.service - SGLang server (GPU 0)."
    failed = f"{at} systemd[1]: {unit}.service: Main process exited, code=exited, status=1/FAILURE"
    assert name_of(began, f"{at} sglang[7]: {READY}", failed) == "none"


def test_a_server_by_any_other_name_has_its_end() -> None:
    at = "Jul  1 05:02:00 ct-a"
    failed = f"{at} systemd[1]: qwen.service: Main process exited, code=exited, status=1/FAILURE"
    assert name_of(f"{at} python[7]: {READY}", failed) == "silent_death"


def test_a_line_of_a_request_that_ends_like_a_call_does_not_end_it() -> None:
    said = 'Traceback (most recent call last):\n    x = torch.zeros(9, device="cuda")'
    assert name_of(READY, OPENED, f"{said}\n{DEATH}", CLOSED, ALIVE) == "none"


@pytest.mark.parametrize("said", ["CrashLoopBackOff", 'POST / HTTP/1.1" 200', "1/1 it/s]Killed"])
def test_a_request_in_one_line_is_no_word_of_the_servers_either(said: str) -> None:
    asked = f"[2026-07-01 05:02:00] Receive: obj=GenerateReqInput(text='{said}', rid='b2')"
    assert name_of(READY, asked) == "none"


def test_a_request_that_begins_like_an_earlier_one_hides_its_lines_too() -> None:
    first = (OPENED, "what is it", CLOSED)
    assert name_of(READY, *first, ALIVE, OPENED, SAID[0], CLOSED, ALIVE) == "none"


@pytest.mark.parametrize(
    "said",
    [
        "12/12 [00:01, 9.0it/s]terminate called after throwing",
        "12/12 [00:01, 9.0it/s]torch.OutOfMemoryError: CUDA out of memory.",
        "'python -m sglang.launch_server' is still supported",
        "Back-off restarting failed",
    ],
)
def test_a_request_in_one_line_says_nothing_about_the_server(said: str) -> None:
    opened = f"{OPENED[:-4]}{said}\", rid='b2')"
    calm = f"{OPENED[:-4]}hello', rid='b2')"
    assert name_of(READY, opened) == "none"
    death = (
        "[2026-07-01 05:02:01 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/x/a.py", line 1, in f',
        DEATH,
    )
    seen = [diagnose(["\n".join((READY, line, *death)).encode()]) for line in (opened, calm)]
    assert seen[0] == seen[1]
