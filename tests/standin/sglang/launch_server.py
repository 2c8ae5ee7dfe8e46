"""A small server in SGLang's place, for tests of whatever starts and follows one.

STANDIN_MODE: (unset) serve; die: exit 1 while loading; idle: never listen, do nothing; spin: never
listen, use the CPU; mute: answer without a token. STANDIN_LOAD_S: seconds of loading.
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

from sglang.replay import replay
from sglang.worker import work


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sglang serve")
    for option in ("model-path", "served-model-name", "host", "api-key", "admin-api-key"):
        parser.add_argument(f"--{option}")
    parser.add_argument("--port", type=int)
    parser.add_argument("--nccl-port", type=int)
    parser.add_argument("--max-running-requests", type=int)
    return parser.parse_args()


class Handler(BaseHTTPRequestHandler):
    args: argparse.Namespace

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
        return self.answer({"data": [{"id": self.args.served_model_name or self.args.model_path}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed():
            return self.answer({"error": "Unauthorized"}, 401)
        tokens = 0 if os.environ.get("STANDIN_MODE") == "mute" else asked["max_tokens"]
        message = {"role": "assistant", "content": "fire " * tokens}
        return self.answer(
            {
                "model": asked["model"],
                "choices": [{"message": message}],
                "usage": {"completion_tokens": tokens},
            }
        )


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
    Handler.args = args
    server = ThreadingHTTPServer((args.host, args.port), Handler)
    logging.info("The server is fired up and ready to roll!")
    server.serve_forever()


if __name__ == "__main__":
    main()
