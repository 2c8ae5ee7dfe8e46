"""What of a command line may be shown."""

import time

import pytest

from stoker.health.redaction import LONGEST, command
from stoker.health.redaction import text as redacted


@pytest.mark.parametrize(
    "words",
    [
        ["--api-key", "s3cr3t"],
        ["--api-key=s3cr3t"],
        ["--api_key=s3cr3t"],
        ["--ap", "s3cr3t"],
        ["--ap=s3cr3t"],
        ["--api-k", "s3cr3t"],
        ["--ad", "s3cr3t"],
        ["--admin-api-key", "s3cr3t"],
        ["--hf-token", "s3cr3t"],
        ["--HF-TOKEN=s3cr3t"],
        ["--ssl-keyfile-password", "s3cr3t"],
        ["--client-secret=s3cr3t"],
        ["-password", "s3cr3t"],
        ["OPENAI_API_KEY=s3cr3t"],
        ["HF_TOKEN=s3cr3t", "python3"],
        ["AWS_SECRET_ACCESS_KEY=s3cr3t"],
        ["env", "Db_Password=s3cr3t"],
        ["sh", "-c", "exec sglang --api-key s3cr3t --port 1"],
        ["sh", "-c", "HF_TOKEN=s3cr3t exec sglang"],
        ["--json", '{"api_key": "s3cr3t", "n": 1}'],
        ["--json", '{"hf_token":"s3cr3t'],
        ["curl", "-H", "Authorization: Bearer s3cr3t"],
        ["curl", "https://name:s3cr3t@example.org/x"],
    ],
)
def test_a_secret_is_not_shown(words: list[str]) -> None:
    shown = command(["python3", *words, "--port", "30000"])
    assert "s3cr3t" not in shown
    assert "***" in shown
    assert shown.endswith("--port 30000")


@pytest.mark.parametrize(
    "words",
    [
        ["--ssl-keyfile", "/etc/key.pem"],
        ["--tokenizer-path", "/models/a"],
        ["--max-total-tokens", "4096"],
        ["KEYBOARD=us"],
        ["--port=30000"],
    ],
)
def test_what_is_no_secret_is_shown(words: list[str]) -> None:
    assert command(words) == " ".join(words)


def test_a_word_with_spaces_is_quoted() -> None:
    assert command(["sh", "-c", "sleep 1"]) == "sh -c 'sleep 1'"
    assert command(["a", ""]) == "a ''"


def test_no_control_character_reaches_a_terminal() -> None:
    assert command(["a\x1b[2J\n\x07b"]) == "'a?[2J??b'"


def test_a_long_line_is_cut() -> None:
    shown = command(["x" * 5000])
    assert len(shown) == LONGEST
    assert shown.endswith(" ...")


def test_no_words_are_no_line() -> None:
    assert command([]) == ""


@pytest.mark.parametrize("piece", ["x", '"', "--a", "a-", "://a", "key", ' "key":', "bearer "])
def test_a_hostile_line_takes_no_time(piece: str) -> None:
    began = time.process_time()
    for text in (piece * (65536 // len(piece)), f"a={piece * (65536 // len(piece))}"):
        command([text, text])
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("--api-key s3cret-key-1 --tp 2", "--api-key *** --tp 2"),
        ("server_args=ServerArgs(api_key='abc-123', tp_size=2)", None),
        ("HF_TOKEN=hf_abcdefghijk in use", "HF_TOKEN=*** in use"),
        ("token usage: 0.15, #token: 90112", "token usage: 0.15, #token: 90112"),
        ("max_total_num_tokens=1048576, x=1", "max_total_num_tokens=1048576, x=1"),
        ("#new-token: 123456, #cached-token: 1234567.", None),
        ("--max-total-tokens 1000000", "--max-total-tokens 1000000"),
        ("password=12345678 token=1234abcd", "password=*** token=***"),
        ("KeyError: 'midlayer.self_attn.qkv_proj.weight'", None),
        ("Authorization: Bearer abcdef", "Authorization: Bearer ***"),
        ("get https://me:pass@host/x", "get https://***@host/x"),
        ("exec sglang --admin-api-key topsecret --tp 2", "exec sglang --admin-api-key *** --tp 2"),
        ("error: --api-key is empty", "error: --api-key is empty"),
        ("api_key: s3cret-key-1", "api_key: ***"),
        ("OPENAI_API_KEY: 's3cret-key-1'", "OPENAI_API_KEY: '***'"),
    ],
)
def test_a_line_of_a_log_is_shown_without_secrets(line: str, shown: str | None) -> None:
    found = redacted(line)
    if shown is not None:
        assert found == shown
    assert "abc-123" not in found and "s3cret" not in found


@pytest.mark.parametrize(
    "line",
    [
        "Missing key model.layers.0.self_attn.qkv_proj.weight",
        "Missing key: model.layers.0.self_attn.qkv_proj.weight",
        "Unexpected keys: midlayer.hidden_norm.weight",
        "the token eos_token_id_2 of the draft is none of the target's",
    ],
)
def test_the_name_of_a_weight_is_no_secret(line: str) -> None:
    assert redacted(line) == line
