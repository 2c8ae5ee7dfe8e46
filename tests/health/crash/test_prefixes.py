"""What others put before the server's lines, and what must not be taken for such a prefix."""

import json

import pytest

from stoker.health.crash.diagnosing import diagnose
from stoker.health.crash.line import KERNEL
from stoker.health.crash.peeling import peel
from stoker.health.crash.prefixes import Prefixes

DEATH = """\
[2026-07-01 05:00:00 TP1] Load weight begin. avail mem=93.80 GB
[2026-07-01 05:00:31 TP1] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/v/site-packages/sglang/srt/model_loader/loader.py", line 700, in load_model
    self.load_weights_and_postprocess(
safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer

[2026-07-01 05:00:31] Received sigquit from a child process. It usually means the child failed."""
READY = "[2026-07-01 05:00:00] The server is fired up and ready to roll!"


@pytest.mark.parametrize(
    "prefix",
    [
        "(SGLangEngine pid=3111) ",
        "[2025-12-18T16:24:02+08:00] qwen3-8b-cfcd2 >> (SGLangEngine pid=3111) ",
        "2025-03-08 02:04:48,693 - __main__ - INFO - ",
        "(Worker_TP3 pid=993) ERROR 08-31 08:16:01 [launcher.py:941] ",
        "2026-08-02T07:53:08.217487080+08:00 stderr F ",
        "2026-08-02T07:53:08.217487Z ",
        "sglang-1  | 2026-08-02T07:53:08.217487080Z ",
        "[2025-11-06T02:10:00.703Z] ",
    ],
)
def test_a_death_is_the_same_behind_any_prefix(prefix: str) -> None:
    lines = [f"{prefix}{line}" for line in DEATH.splitlines()]
    found = diagnose(["\n".join(lines).encode()])
    assert (found.name, found.phase, found.line) == ("weights_incomplete", "load", 5)
    assert found.cause.startswith("TP1: ")


def test_the_digits_the_level_and_the_file_of_a_prefix_may_change() -> None:
    prefixes = Prefixes(lambda: None)
    prefixes.without("ERROR 08-31 08:16:01 [launcher.py:941] [2026-07-01 05:00:00] one")
    assert prefixes.without("INFO 09-01 11:00:59 [core.py:7] two") == "two"
    assert prefixes.without("note 09-01 11:00:59 [core.py:7] two").startswith("note")


def test_lines_that_were_boring_behind_a_prefix_are_read_once_it_is_known() -> None:
    forgotten: list[bool] = []
    Prefixes(lambda: forgotten.append(True)).without('a | \t  File "x.py", line 1, in f')
    assert forgotten == []
    Prefixes(lambda: forgotten.append(True)).without('a |   File "x.py", line 1, in f')
    assert forgotten == [True]


def test_the_rank_before_a_frame_stays_where_it_is() -> None:
    text = '[rank1]:   File "/opt/v/x.py", line 3, in barrier'
    assert Prefixes(lambda: None).without(text) == text


def test_a_log_that_a_user_sent_in_a_prompt_teaches_nothing() -> None:
    said = (
        "[2026-07-01 05:05:01] Receive: obj=GenerateReqInput(text='[2026-06-30 12:00:00] "
        "Received sigquit from a child process', rid='9')"
    )
    assert diagnose([f"{READY}\n{said}\n".encode()]).name == "none"


def test_a_line_of_dockers_json_file_is_what_it_holds() -> None:
    lines = [json.dumps({"log": f"{line}\n", "stream": "stderr"}) for line in DEATH.splitlines()]
    found = diagnose(["\n".join(lines).replace('": "', '":"').encode()])
    assert (found.name, found.line) == ("weights_incomplete", 5)
    assert peel(1, b'{"log":"broken \\u12').text.startswith('{"log"')


def test_a_container_runtimes_time_is_no_journal() -> None:
    time = b"2026-08-02T07:53:08.217487080Z"
    said = b"sglang serve: error: ambiguous option: --a could match --ab, --ac"
    assert diagnose([time + b" " + said]).name == "flag_ambiguous"


def test_the_kernels_word_is_known_behind_other_peoples_prefixes() -> None:
    lost = b"NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus."
    talos = b"10.0.0.1: kern: warning: [2026-04-22T21:30:51.87Z]: " + lost
    assert peel(1, talos).origin == KERNEL and diagnose([talos]).name == "gpu_lost"
    assert diagnose([b"Apr 22 2026 21:30 node7 [warn] " + lost]).name == "gpu_lost"
    asked = (
        b"[2026-07-01 05:05:01] Receive: text='NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off'"
    )
    assert peel(1, asked).origin != KERNEL


def test_an_indented_block_is_read_as_it_was() -> None:
    frame = '  File "/opt/v/site-packages/transformers/utils/hub.py", line 471, in cached_files'
    last = "OSError: /srv/models/qwen does not appear to have a file named config.json."
    lines = [
        "It fails:",
        "",
        "    Traceback (most recent call last):",
        f"    {frame}",
        f"    {last}",
    ]
    assert diagnose(["\n".join(lines).encode()]).name == "model_missing"


def test_what_is_indented_beside_plain_lines_is_no_block() -> None:
    prefixes = Prefixes(lambda: None)
    prefixes.without("[2026-07-01 05:00:00] Load weight begin.")
    assert prefixes.without("    Traceback (most recent call last):").startswith("    ")


def test_a_prefix_that_ends_like_a_word_is_known_from_its_third_line_on() -> None:
    prefixes = Prefixes(lambda: None)
    line = "sglang-0 main [2026-07-01 05:00:00 TP0] Load weight begin. avail mem=93.80 GB"
    told = [prefixes.without(line).startswith("[2026") for _ in range(4)]
    assert told == [False, False, True, True]


def test_a_progress_bar_is_no_prefix() -> None:
    prefixes = Prefixes(lambda: None)
    prefixes.without("29% 8/28 [00:14<00:25,  1.30s/it][2026-07-01 05:00:00] Scheduler hit")
    assert prefixes.known == []


def test_a_usage_shows_where_the_line_begins() -> None:
    usage = "usage: sglang serve [-h] --model-path MODEL_PATH"
    lines = [usage, "sglang serve: error: unrecognized arguments: --x"]
    log = "\n".join(f"2026-07-01 05:00:00,123 - launcher - INFO - {line}" for line in lines)
    assert diagnose([log.encode()]).name == "flag_unknown"


def test_a_runners_time_may_look_like_the_servers() -> None:
    lines = [
        f"[2026-06-29 17:44:04] [/bin/sh]: {line}" for line in [READY] * 3 + DEATH.splitlines()
    ]
    assert diagnose(["\n".join(lines).encode()]).name == "weights_incomplete"
