"""Outputs recorded from systemd 252 in a Debian 12 container; only the address was put in."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.facts.servers import REDACT, AskedServers, Servers
from stoker.facts.staging import Stages
from stoker.serving.secrecy import redacted

RECORDED = Path(__file__).parent / "recorded"


def lines(name: str) -> list[str]:
    return (RECORDED / name).read_text().splitlines()


def test_every_unit_is_told_with_what_its_process_carries() -> None:
    servers = Servers().process(lines("servers.txt"))
    assert list(servers) == ["sglang@0.service", "sglang@1.service", "sglang@2.service"]
    runs = servers["sglang@0.service"]
    assert (runs.active, runs.sub, runs.main_pid) == ("active", "running", 8841)
    assert runs.since == datetime.fromtimestamp(1795970365, UTC)
    assert (
        runs.running_digest
        == runs.disk_digest
        == ("5b4c5842d61a048ec8ad6eea9e42a6a7117e81c6aeeaf848677915b56a3c0e4c")
    )
    assert (runs.flagset, runs.sglang, runs.model) == ("many", "0.5.12", "tiny")
    assert runs.words[1:4] == (
        "/opt/stoker/launch/sglang_launch_server.py",
        "--model-path",
        "/dev/shm/m",
    )
    assert (runs.enabled, runs.needs_reload) == (True, True)


def test_a_server_on_every_address_is_shown_with_the_containers_own() -> None:
    runs = Servers().process(lines("servers.txt"))["sglang@0.service"]
    assert runs.url == "http://192.0.2.7:30000"
    assert runs.local_url == "http://127.0.0.1:30000"


def test_a_stopped_unit_has_no_process_and_no_running_digest() -> None:
    stopped = Servers().process(lines("servers.txt"))["sglang@1.service"]
    assert (stopped.active, stopped.main_pid, stopped.running_digest) == ("inactive", None, None)
    assert stopped.disk_digest
    assert stopped.words == ()


def test_a_killed_unit_waits_for_its_restart() -> None:
    killed = Servers().process(lines("servers.txt"))["sglang@2.service"]
    assert (killed.sub, killed.result) == ("auto-restart", "signal")


def test_no_units_and_no_container_yet_are_no_servers() -> None:
    assert Servers().process(lines("servers-none.txt")) == Servers.default() == {}


def test_a_container_that_was_asked_is_told_from_one_that_did_not_answer() -> None:
    told = lines("servers.txt")
    assert AskedServers().process([*told, "Asked=yes"]) == Servers().process(told)
    assert AskedServers().process(["Asked=yes"]) == {}
    assert AskedServers().process(told) is None
    assert AskedServers().default() is None


def test_its_script_says_at_its_end_that_it_was_asked() -> None:
    done = subprocess.run(
        ["sh", "-c", str(AskedServers().command().get_raw_value())], capture_output=True, text=True
    )
    assert AskedServers().process(done.stdout.splitlines()) == {}


def test_staging_units_name_the_place_they_fill() -> None:
    assert Stages().process(lines("stages.txt")) == {"sglang-stage-many.service": "/dev/shm/m"}


WORDS = st.lists(
    st.one_of(
        st.sampled_from(
            ["--api-key", "--ap", "--ad", "--hf-token", "--port", "--api-key=x", "--x=y"]
        ),
        st.from_regex(r"--?[a-z-]{0,12}(=[a-z]{0,3})?", fullmatch=True),
    ),
    max_size=6,
)


@given(WORDS)
@settings(max_examples=25, deadline=None)
def test_the_container_and_the_controller_hide_the_same_words(words: list[str]) -> None:
    program = REDACT + "{ print redact($0, last); last = $0 }"
    result = subprocess.run(
        ["awk", program], input="".join(f"{w}\n" for w in words), capture_output=True, text=True
    )
    assert tuple(result.stdout.splitlines()) == redacted(words)


def test_a_secrets_value_is_hidden_however_its_option_is_written() -> None:
    words = (
        "--api-key",
        "a",
        "--admin-api-key=b",
        "--ap",
        "c",
        "--port",
        "1",
        "--model-path",
        "/m",
    )
    assert redacted(words) == (
        *("--api-key", "***", "--admin-api-key=***", "--ap", "***"),
        *("--port", "1", "--model-path", "/m"),
    )
