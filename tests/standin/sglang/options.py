"""The options that the stand-in knows; any other ends it as SGLang's parser would."""

import argparse

_WORDS = (
    "model-path served-model-name host api-key admin-api-key device attention-backend "
    "reasoning-parser load-format kv-cache-dtype mamba-ssm-dtype speculative-algorithm "
    "speculative-draft-model-path tokenizer-path"
)
_NUMBERS = (
    "port nccl-port max-running-requests max-queued-requests context-length max-total-tokens "
    "chunked-prefill-size max-prefill-tokens tp-size dp-size pp-size hicache-size "
    "speculative-num-steps speculative-eagle-topk speculative-num-draft-tokens"
)
_SWITCHES = "enable-metrics trust-remote-code enable-hierarchical-cache"


def parse() -> argparse.Namespace:
    """Of this process's command line."""
    parser = argparse.ArgumentParser(prog="sglang serve")
    for word in _WORDS.split():
        parser.add_argument(f"--{word}")
    for number in _NUMBERS.split():
        parser.add_argument(f"--{number}", type=int)
    for switch in _SWITCHES.split():
        parser.add_argument(f"--{switch}", action="store_true")
    parser.add_argument("--mem-fraction-static", type=float)
    parser.set_defaults(chunked_prefill_size=256, context_length=512, max_running_requests=8)
    return parser.parse_args()
