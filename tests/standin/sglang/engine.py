"""What the stand-in answers to: prompts counted, a pace kept, and a death in the burst if asked."""

import argparse
import logging
import os
import signal
import threading
import time
from typing import Any


class Engine:
    """`STANDIN_TOKENS_PER_S`: the pace of all requests together; unset: at once.

    `STANDIN_MODE=burst`: dies as soon as the prompts at hand fill one chunk.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._pace = float(os.environ.get("STANDIN_TOKENS_PER_S", "0"))
        self._at_hand = 0
        self._count, self._turn = threading.Lock(), threading.Lock()

    def generate(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The answer to /generate."""
        prompt, wanted = len(asked["input_ids"]), asked["sampling_params"]["max_new_tokens"]
        self._arrived(prompt)
        with self._turn:
            if self._pace:
                time.sleep((prompt + wanted) / self._pace)
        self._arrived(-prompt)
        counts = {"prompt_tokens": prompt, "completion_tokens": wanted, "cached_tokens": 0}
        return {"text": "fire " * wanted, "meta_info": counts}

    def fits(self, asked: dict[str, Any]) -> bool:
        """Whether the context is long enough for it."""
        room = int(self._args.context_length)
        return len(asked["input_ids"]) + asked["sampling_params"]["max_new_tokens"] < room

    def info(self) -> dict[str, Any]:
        """The answer to /server_info, which holds the API key as SGLang's does."""
        state = {"effective_max_running_requests_per_dp": self._args.max_running_requests}
        if accept := os.environ.get("STANDIN_ACCEPT"):
            state["avg_spec_accept_length"] = float(accept)
        return {
            **vars(self._args),
            "max_total_num_tokens": self._args.max_total_tokens or 2048,
            "max_req_input_len": self._args.context_length - 6,
            "internal_states": [state],
            "version": "0.5.12",
        }

    def _arrived(self, tokens: int) -> None:
        with self._count:
            self._at_hand += tokens
            full = self._at_hand >= self._args.chunked_prefill_size
        if full and os.environ.get("STANDIN_MODE") == "burst":
            logging.error("Scheduler hit an exception: Traceback (most recent call last):")
            logging.error("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB.")
            os.kill(os.getpid(), signal.SIGKILL)
