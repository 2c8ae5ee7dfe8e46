"""A small server in SGLang's place, for tests of whatever starts and follows one.

STANDIN_MODE: (unset) serve; die: exit 1 while loading; idle: never listen, do nothing; spin: never
listen, use the CPU; mute: answer without a token; burst: die when prompts fill a chunk.
STANDIN_LOAD_S: seconds of loading. STANDIN_TOKENS_PER_S: how fast /generate answers.
STANDIN_ACCEPT: the accept length of its draft, as /server_info tells.
STANDIN_STOP=KILL: end like 0.5.12, which sends itself KILL on TERM.
STANDIN_REPLAY: file of a recorded log, which it writes and then ends as STANDIN_END says.
"""

import argparse
import json
import logging
import multiprocessing
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sglang.engine import Engine
from sglang.options import parse
from sglang.replay import replay
from sglang.worker import work


class Handler(BaseHTTPRequestHandler):
    args: argparse.Namespace
    engine: Engine

    def log_message(self, *args: Any) -> None:
        """Nothing."""

    def answer(self, body: dict[str, Any], status: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def allowed(self) -> bool:
        key = self.args.api_key
        return not key or self.headers.get("Authorization") == f"Bearer {key}"

    def do_GET(self) -> None:
        if self.path == "/health":
            return self.answer({})
        if not self.allowed():
            return self.answer({"error": "Unauthorized"}, 401)
        if self.path == "/server_info":
            return self.answer(self.engine.info())
        return self.answer({"data": [{"id": self.args.served_model_name or self.args.model_path}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed():
            return self.answer({"error": "Unauthorized"}, 401)
        if self.path == "/generate":
            return self.generate(asked)
        tokens = 0 if os.environ.get("STANDIN_MODE") == "mute" else asked["max_tokens"]
        message = {"role": "assistant", "content": "fire " * tokens}
        return self.answer(
            {
                "model": asked["model"],
                "choices": [{"message": message}],
                "usage": {"completion_tokens": tokens},
            }
        )

    def generate(self, asked: dict[str, Any]) -> None:
        if not self.engine.fits(asked):
            return self.answer({"error": {"message": "The input is too long."}}, 400)
        return self.answer(self.engine.generate(asked))


class Server(ThreadingHTTPServer):
    request_queue_size = 1024


def main() -> None:
    args = parse()
    if log := os.environ.get("STANDIN_REPLAY"):
        replay(log, os.environ["STANDIN_END"])
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s", force=True)
    logging.info(f"server_args={args}")
    multiprocessing.get_context("spawn").Process(target=work, args=(args,), daemon=True).start()
    mode, ends = os.environ.get("STANDIN_MODE"), time.monotonic()
    ends += float(os.environ.get("STANDIN_LOAD_S", "1"))
    while time.monotonic() < ends or mode == "idle":
        logging.info("Loading safetensors checkpoint shards")
        time.sleep(10**6 if mode == "idle" else 0.5)
    while mode == "spin":
        pass
    if mode == "die":
        logging.error("RuntimeError: Not enough memory. Please try to increase the fraction")
        sys.exit(1)
    if os.environ.get("STANDIN_STOP") == "KILL":
        signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    Handler.args, Handler.engine = args, Engine(args)
    pool = Handler.engine.info()["max_total_num_tokens"]
    logging.info(
        f"max_total_num_tokens={pool}, chunked_prefill_size={args.chunked_prefill_size}, "
        f"max_prefill_tokens=16384, max_running_requests={args.max_running_requests}, "
        f"context_len={args.context_length}, available_cpu_mem=20.00 GB"
    )
    server = Server((args.host, args.port), Handler)
    logging.info("The server is fired up and ready to roll!")
    server.serve_forever()


if __name__ == "__main__":
    main()
