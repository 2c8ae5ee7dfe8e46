"""The command line, and values that only later turn out to be wrong."""

from __future__ import annotations

from pathlib import Path

from tests.health.crash.provoke.scenario import Scenario, tiny

_OLD, _NEW = ("0.5.12",), ("0.5.23",)


def _config(text: str) -> None:
    tiny()
    Path("/srv/flags.yaml").write_text(text)


def _wrong_key() -> None:
    """A key in it is none of the parser's."""
    _config("num-speculative-tokens: 16\nmax-running-requests: 4\n")


def _broken_yaml() -> None:
    """It is no YAML."""
    _config("max-running-requests: 4\n  context-length: [512\n")


ALL = {
    "flag_unknown": Scenario({"--num-speculative-tokens": "16"}),
    "flag_underscore": Scenario({"--reasoning_parser": "qwen3"}),
    "flag_removed": Scenario({"--mamba-scheduler-strategy": "extra_buffer"}, versions=_NEW),
    "flag_value_for_switch": Scenario({"--trust-remote-code": "true"}),
    "flag_ambiguous_old": Scenario({"--speculative-num": "3"}),
    "flag_ambiguous_new": Scenario({"--cuda-graph-max-bs": "64"}, versions=_NEW),
    "bad_choice": Scenario({"--kv-cache-dtype": "fp8"}),
    "bad_number": Scenario({"--max-running-requests": "8k"}),
    "bad_fraction": Scenario({"--mem-fraction-static": "85%"}),
    "missing_value": Scenario({"--reasoning-parser": None}),
    "missing_required": Scenario({"--model-path": "-"}),
    "config_wrong_key": Scenario({"--config": "/srv/flags.yaml"}, prepare=_wrong_key),
    "config_broken": Scenario({"--config": "/srv/flags.yaml"}, prepare=_broken_yaml),
    "config_absent": Scenario({"--config": "/srv/absent.yaml"}),
    "bad_json": Scenario({"--json-model-override-args": "{rope_theta: 1}"}),
    "fraction_above_one": Scenario({"--mem-fraction-static": "1.5"}),
    "context_too_long": Scenario({"--context-length": "100000"}),
    "no_running_requests": Scenario({"--max-running-requests": "0"}),
    "tp_odd_heads": Scenario({"--tp-size": "3"}),
    "page_size_zero": Scenario({"--page-size": "0"}),
    "chat_template_absent": Scenario({"--chat-template": "/srv/models/absent.jinja"}),
    "ssl_absent": Scenario({"--ssl-certfile": "/srv/a.pem", "--ssl-keyfile": "/srv/b.pem"}),
    "lora_absent": Scenario({"--lora-paths": "sql=/srv/models/absent-lora"}),
    "backend_needs_gpu": Scenario({"--attention-backend": "flashinfer"}),
    "quantization_needs_gpu": Scenario({"--quantization": "modelopt_fp4"}),
}
