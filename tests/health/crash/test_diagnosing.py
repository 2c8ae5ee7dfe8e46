import pytest

from stoker.health.crash.diagnosing import diagnose
from tests.health.crash.logs import (
    CLOSED,
    DECODE,
    KILLED,
    LOAD,
    LOADED,
    NINJA,
    OOM,
    PREFILL,
    READY,
    RESTART,
    SIGQUIT,
    STARTED,
    TRACEBACK,
    UNKNOWN,
    failed,
    journal,
    program,
    systemd,
    verdict,
)


@pytest.mark.parametrize(
    ("before", "phase", "word"),
    [
        (LOAD, "load", "Raise --tp-size"),
        (LOADED, "kv_pool", "Lower --mem-fraction-static"),
        (f"{LOADED}\nCapture cuda graph begin. avail mem=9 GB", "graph_capture", "graph-max-bs"),
        (f"{LOADED}\nLoad weight begin. avail mem=9 GB", "draft_load", "the draft"),
        (f"{READY}\n{PREFILL}", "prefill", "--chunked-prefill-size"),
        (f"{READY}\n{DECODE}", "decode", "--max-running-requests"),
    ],
)
def test_the_phase_decides_what_to_do_about_memory(before: str, phase: str, word: str) -> None:
    found = verdict(program(before, rank="TP0"), failed(OOM))
    assert (found.name, found.phase) == ("gpu_oom", phase)
    assert word in found.action


def test_the_traceback_says_which_of_both_batches_failed() -> None:
    frame = "model_executor/model_runner.py:forward_extend"
    assert verdict(program(READY), program(DECODE), failed(OOM, frame=frame)).phase == "prefill"


@pytest.mark.parametrize(
    ("version", "mark", "flag"),
    [
        ("0.5.12", "", "--cuda-graph-max-bs smaller"),
        ("0.5.23", "", "--cuda-graph-max-bs-decode smaller"),
        ("", "Init parallel begin.", "--cuda-graph-max-bs-decode smaller"),
        ("", "Init torch distributed begin.", "--cuda-graph-max-bs smaller"),
        ("", "", "--cuda-graph-max-bs (--cuda-graph-max-bs-decode in newer versions)"),
    ],
)
def test_a_flag_is_called_as_that_version_calls_it(version: str, mark: str, flag: str) -> None:
    began = program(f"{mark}\nCapture cuda graph begin. avail mem=9 GB".strip())
    assert flag in verdict(began, failed(OOM), version=version).action


def test_each_rank_has_its_own_phase() -> None:
    ahead = program(LOADED, rank="TP1")
    assert verdict(program(LOAD, rank="TP0"), ahead, failed(OOM, rank="TP0")).phase == "load"


def test_the_echo_of_another_rank_is_no_cause_though_it_comes_first() -> None:
    found = verdict(program(LOAD), failed(CLOSED, rank="TP1"), failed(OOM, rank="TP3"))
    assert (found.name, found.line) == ("gpu_oom", 11)


def test_an_echo_alone_is_no_cause_either() -> None:
    found = verdict(program(LOAD), failed(CLOSED, rank="TP1"), program(SIGQUIT))
    assert (found.name, found.confidence) == ("silent_death", "low")


def test_the_earliest_of_two_causes_wins() -> None:
    found = verdict(program(LOAD), failed(NINJA, "10:00:01"), failed(OOM, "10:00:09", "TP1"))
    assert found.name == "ninja_missing"


def test_a_known_cause_beside_an_unknown_error_of_the_same_moment_wins() -> None:
    assert verdict(program(LOAD), failed(UNKNOWN), failed(OOM, rank="TP1")).name == "gpu_oom"


def test_an_error_that_no_row_knows_is_said_to_be_unknown() -> None:
    found = verdict(program(READY), program(DECODE), failed(UNKNOWN), program(SIGQUIT))
    assert (found.name, found.confidence) == ("program_error", "medium")
    assert "TypeError: 'NoneType' object is not subscriptable" in found.cause
    assert "a.py" in found.cause


def test_the_first_of_a_chain_is_the_root() -> None:
    chain = (
        f"{failed(NINJA).rstrip()}\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        f'{TRACEBACK}\n  File "/x/b.py", line 2, in g\n'
        "Exception: Capture cuda graph failed: [Errno 2] No such file or directory: 'ninja'\n"
    )
    found = verdict(program(LOAD), chain)
    assert (found.name, found.line) == ("ninja_missing", 6)


def test_an_error_that_was_only_put_in_other_words_is_shown_in_these() -> None:
    chain = (
        f'{TRACEBACK}\n  File "/x/huggingface_hub/a.py", line 2, in g\n'
        "httpx.ConnectError: [Errno -3] Temporary failure in name resolution\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        f'{TRACEBACK}\n  File "/x/transformers/utils/hub.py", line 2, in g\n'
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files\n"
    )
    found = verdict(chain)
    assert (found.name, found.line) == ("hf_access", 9)


def test_a_process_that_went_on_did_not_die_of_it() -> None:
    request = (
        "[2026-06-01 10:00:00] ERROR:    Exception in ASGI application\n"
        f'{TRACEBACK}\n  File "/x/b.py", line 2, in g\nPermissionError: [Errno 13] Permission '
        "denied: '/home/llm/.cache'\n"
    )
    served = program(DECODE, "10:05:00")
    assert verdict(program(READY), request, served).name == "none"
    dead = verdict(program(READY), request, served, failed(OOM, "10:06:00"))
    assert dead.name == "gpu_oom"


def test_only_the_last_start_counts() -> None:
    old = failed(OOM) + program(SIGQUIT)
    assert verdict(program(LOAD), old, program(READY, "11:00:00")).name == "none"
    again = verdict(program(READY), program(LOAD, "11:00:00"), failed(NINJA, "11:00:09"))
    assert again.name == "ninja_missing"


def loop(*runs: str) -> str:
    """Runs that systemd started one after the other."""
    return "".join(
        systemd(STARTED, f"10:0{at}:00")
        + journal(run, f"10:0{at}:10")
        + systemd(f"{KILLED}\n{RESTART.format(at + 1)}", f"10:0{at}:20")
        for at, run in enumerate(runs)
    )


def test_of_a_loop_the_first_failure_is_told() -> None:
    found = verdict(loop(failed(NINJA), failed(OOM), failed(OOM)))
    assert (found.name, found.line) == ("ninja_missing", 5)


def test_the_failure_that_began_the_loop_may_be_that_of_a_server_that_served() -> None:
    served = program(READY) + program(DECODE) + failed(OOM)
    assert verdict(loop(served, failed(NINJA), failed(NINJA))).name == "gpu_oom"


def test_a_server_that_served_ends_the_loop_before_it() -> None:
    served = program(READY) + program(DECODE) + failed(OOM)
    assert verdict(loop(failed(NINJA), failed(NINJA), served)).name == "gpu_oom"


def test_a_loop_that_ended_well_is_well() -> None:
    assert verdict(loop(failed(NINJA)), systemd(STARTED), journal(program(READY))).name == "none"


def test_a_start_by_hand_is_no_part_of_the_loop() -> None:
    by_hand = systemd(STARTED, "12:00:00") + journal(failed(OOM), "12:00:10")
    stopped = systemd("Stopped sglang-a.service - SGLang server (a).", "11:00:00")
    first = loop(failed(NINJA)).replace(RESTART.format(1), "sglang-a.service: Consumed 2s.")
    assert verdict(first, stopped, by_hand).name == "gpu_oom"


def test_a_loop_without_a_word_of_the_program_is_only_a_loop() -> None:
    found = verdict(loop("", "", ""))
    assert (found.name, found.phase, found.line) == ("restart_loop", "systemd", 3)


def test_a_server_that_was_stopped_is_no_fault() -> None:
    stop = systemd("Stopping sglang-a.service - SGLang server (a)...", "11:00:00")
    after = journal(
        program("Subprocess scheduler_0 (pid=7) crashed with exit code -15."), "11:00:01"
    )
    end = systemd(f"{KILLED}\nsglang-a.service: Failed with result 'signal'.", "11:00:02")
    begin = systemd(STARTED) + journal(program(READY))
    assert verdict(begin, stop, after, journal(failed(CLOSED)), end).name == "none"


def test_a_server_that_is_ended_by_sigterm_alone_was_stopped() -> None:
    end = program("Subprocess scheduler_0 (pid=7) crashed with exit code -15. Triggering SIGQUIT")
    assert verdict(program(READY), end).name == "none"


def test_a_rank_that_is_killed_without_a_word_is_a_silent_death() -> None:
    end = program(
        "Subprocess scheduler_0 (pid=7) crashed with exit code -9. Triggering SIGQUIT for cleanup"
    )
    found = verdict(program(READY), program(DECODE), end)
    assert (found.name, found.phase, found.line) == ("silent_death", "decode", 12)
    assert "SIGKILL" in found.cause
    assert "looked at: the log" in found.details


def test_a_log_that_just_ends_while_loading_is_not_made_more_of() -> None:
    found = verdict(program(LOAD))
    assert (found.name, found.phase, found.confidence) == ("silent_death", "load", "low")
    assert "still running" in found.cause


def test_a_log_that_breaks_off_in_a_traceback_says_so() -> None:
    found = verdict(program(LOAD), failed(OOM).rsplit("    raise", 1)[0])
    assert found.name == "silent_death" and "breaks off" in found.cause


def test_ranks_that_wait_until_somebody_ends_them_hang() -> None:
    begin = systemd(STARTED) + journal(program("Init torch distributed begin.", rank="TP0"))
    begin += journal(program("Init torch distributed begin.", rank="TP1"))
    stop = systemd("Stopping sglang-a.service - SGLang server (a)...", "10:20:00")
    assert verdict(begin, stop).name == "nccl_hang"


def test_an_empty_log_is_called_empty() -> None:
    assert verdict("").cause == "the log is empty"


def test_secrets_are_not_shown() -> None:
    said = (
        "sglang serve: error: unrecognized arguments: --api-kee x --api-key s3cret-1 hf_abcdefgh1"
    )
    found = verdict(said)
    assert "s3cret" not in found.text + found.cause and "hf_abc" not in found.text + found.cause


def test_the_option_that_was_meant_is_named_where_the_usage_text_lists_it() -> None:
    usage = (
        "                    [--speculative-num-draft-tokens N] [--tp-size N]\n"
        "                    [--reasoning-parser {qwen3}]\n"
        "sglang serve: error: unrecognized arguments: --speculative-num-draft-token 4\n"
    )
    assert "nearest that it knows is --speculative-num-draft-tokens" in verdict(usage).cause
    underscores = "launch_server.py: error: unrecognized arguments: --reasoning_parser kimi_k2"
    assert "--reasoning-parser" in verdict(underscores).cause


def test_a_kernel_log_beside_it_is_joined_by_time() -> None:
    log = journal(program(READY)) + journal(program(DECODE)) + systemd(KILLED, "10:00:01")
    said = "Memory cgroup out of memory: Killed process 41 (sglang::schedul) anon-rss:9kB"
    then = f"Jun  1 10:00:00 pve1 kernel: {said}\n".encode()
    before = f"May 20 10:00:00 pve1 kernel: {said}\n".encode()
    found = diagnose([log.encode()], dmesg=[then])
    assert (found.name, found.confidence) == ("cgroup_oom", "medium")  # of which container?
    assert diagnose([log.encode()], dmesg=[before]).name == "silent_death"


def test_a_reboot_that_the_driver_wants_outranks_the_fault_before_it() -> None:
    fault = "NVRM: Xid (PCI:0000:09:00): 31, pid=88, name=sglang::schedul, Ch 1"
    wish = "NVRM: Xid (PCI:0000:09:00): 154, GPU recovery action changed from 0x0 to 0x2 (Reboot)"
    log = journal(f"{fault}\n{wish}", ident="kernel") + journal(program(SIGQUIT))
    assert verdict(log).name == "reboot_required"
    assert verdict(log.replace("0x2", "0x1")).name == "gpu_app_fault"


def test_a_fault_of_a_gpu_that_went_on_is_not_the_cause() -> None:
    fault = "NVRM: Xid (PCI:0000:09:00): 13, pid=88, name=other"
    log = journal(program(READY)) + journal(fault, "10:00:00", "kernel")
    assert verdict(log, journal(program(DECODE, "10:30:00"), "10:30:00")).name == "none"


def test_a_message_behind_a_progress_bar_is_seen() -> None:
    bar = "Loading safetensors checkpoint shards:  50%|#####  | 1/2 [00:01<00:01,  1.0it/s]"
    found = verdict(program(LOAD), bar, failed(OOM))
    assert (found.name, found.line) == ("gpu_oom", 6)
