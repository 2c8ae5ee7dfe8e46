"""Logs that begin in the middle, and ends that only a runner or a container's runtime tells."""

from stoker.health.crash.diagnosing import diagnose

FRAME = '  File "/opt/v/sglang/srt/layers/logits_processor.py", line 510, in _get'
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.37 GiB."
BATCH = "[2026-07-01 05:00:00 TP0] Decode batch, #running-req: 12, #token: 90000, token usage: 0.18"


def of(*lines: str) -> tuple[str, str, int | None]:
    found = diagnose(["\n".join(lines).encode()])
    return found.name, found.phase, found.line


def test_the_word_of_the_end_counts_right_behind_the_exception_too() -> None:
    end = "[2026-04-01 10:00:10] SIGQUIT received. signum=None, frame=None."
    assert of(FRAME, OOM, end) == ("gpu_oom", "decode", 2)


def test_an_answered_request_shows_that_it_served() -> None:
    asked = (
        '[2026-07-01 05:00:00] INFO:     10.0.0.1:48308 - "POST /v1/completions HTTP/1.1" 200 OK'
    )
    hang = "[2026-07-01 05:05:00 TP3] Watchdog timeout (self.watchdog_timeout=300)"
    assert of(asked, hang) == ("nccl_hang", "decode", 2)


def test_a_container_that_exited_has_ended() -> None:
    assert of(BATCH, "sglang-1 exited with code 137") == ("silent_death", "decode", 2)
    assert of(BATCH, "the client exited with code 137 as asked")[0] == "none"


def test_a_rank_that_died_at_the_start_is_an_end_without_a_sigquit() -> None:
    frame = (
        '  File "/opt/v/sglang/srt/entrypoints/engine.py", line 13, in _wait_for_scheduler_ready'
    )
    said = "RuntimeError: Rank 0 scheduler died during initialization (exit code: {})."
    header = "Traceback (most recent call last):"
    assert of(header, frame, said.format(-7))[0] == "sigbus_shm"
    assert of(header, frame, said.format(-9)) == ("silent_death", "import", 3)


def test_weights_that_a_drafts_worker_loads_are_the_drafts() -> None:
    worker = '  File "/opt/v/sglang/srt/speculative/eagle_worker.py", line 124, in __init__'
    loader = (
        '  File "/opt/v/sglang/srt/model_loader/weight_utils.py", line 9, in default_weight_loader'
    )
    last = "AssertionError: Attempted to load weight (torch.Size([9])) into parameter ([8])"
    header = "Scheduler hit an exception: Traceback (most recent call last):"
    assert of(header, worker, loader, last) == ("draft_mismatch", "draft_load", 4)
