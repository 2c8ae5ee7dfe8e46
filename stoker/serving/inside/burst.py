"""Sends one server a burst of random prompts, all at once. Run as root by the venv's Python.

argv[1]: JSON {"url", "pid", "gpus", "model_path", "prompts", "generated", "time_limit_s"}; prompts:
[[how many, tokens of each]]; none: it only asks what the server says of itself. Prints one JSON
object: {"error", "requests", "answered", "prompt_tokens", "generated_tokens", "cached_tokens",
"seconds", "waited", "low_water_gib", "info"}; `error` is null if every request was answered, and by
the very process that was there before. The API key is read from that process's environment.
"""

import asyncio
import ctypes
import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
from pathlib import Path
from typing import Any

from stoker.serving.inside.ask_token import api_key, fetch, listens
from stoker.serving.inside.waiting import waited, waits

INFO_TIMEOUT_S = 60
SMI_TIMEOUT_S = 20
SAMPLE_S = 0.3
FULL_S = 0.5
"""Before a request that was turned away, since too many wait, is sent again."""
_PDEATHSIG = 1


class FullError(Exception):
    """It takes no more requests for now."""


def vocabulary(model_path: str) -> int:
    """Entries, from the model's config; 256 where it does not say."""
    try:
        config = json.loads(Path(model_path, "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 256
    inner = config.get("text_config") or {}
    return int(inner.get("vocab_size") or config.get("vocab_size") or 256)


def bodies(asked: dict[str, Any]) -> list[bytes]:
    """The requests, long and short ones mixed. No two prompts begin alike: a cached beginning is
    not computed again. Special tokens stand at both ends of a vocabulary, and are left out."""
    entries = vocabulary(asked["model_path"])
    ids = range(min(entries // 8, 1000), max(entries // 2, 1))
    chance = random.SystemRandom()
    wanted = {"max_new_tokens": asked["generated"], "ignore_eos": True, "temperature": 0}
    lengths = [length for count, length in asked["prompts"] for _ in range(count)]
    chance.shuffle(lengths)
    prompts = [random.Random(chance.random()).choices(ids, k=length) for length in lengths]
    return [json.dumps({"input_ids": p, "sampling_params": wanted}).encode() for p in prompts]


async def generate(url: str, key: str | None, body: bytes) -> dict[str, Any]:
    """The counts in one answer of /generate."""
    place = urllib.parse.urlsplit(url)
    head = [
        "POST /generate HTTP/1.1",
        f"Host: {place.netloc}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *([f"Authorization: Bearer {key}"] if key else []),
    ]
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        await writer.drain()
        return counts(await reader.read())
    finally:
        writer.close()


def counts(raw: bytes) -> dict[str, Any]:
    """Raises `FullError` if it takes no more, `ValueError` with its words for another answer."""
    head, _, body = raw.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    if status == [b"200"]:
        found = json.loads(body).get("meta_info")
        if not isinstance(found, dict):
            raise ValueError("an answer without counts of tokens")
        ended = found.get("finish_reason") or {}
        if ended.get("type") == "abort":
            raise ValueError(f"it gave the request up: {ended.get('message')}")
        return found
    if status == [b"503"]:
        raise FullError
    if not status:
        raise ConnectionResetError("the connection was closed without an answer")
    raise ValueError(f"HTTP {status[0].decode()}: {body[:300].decode(errors='replace')}")


async def patiently(url: str, key: str | None, body: bytes) -> dict[str, Any]:
    while True:
        try:
            return await generate(url, key, body)
        except FullError:
            await asyncio.sleep(FULL_S)


async def all_at_once(asked: dict[str, Any], key: str | None) -> tuple[list[Any], str | None]:
    """The counts of those that were answered, and why not all were. The first failure ends it."""
    tasks = [asyncio.ensure_future(patiently(asked["url"], key, b)) for b in bodies(asked)]
    done, pending = await asyncio.wait(
        tasks, timeout=asked["time_limit_s"], return_when=asyncio.FIRST_EXCEPTION
    )
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    failures = [error for task in done if (error := task.exception())]
    answers = [task.result() for task in done if not task.exception()]
    if failures:
        return answers, f"{type(failures[0]).__name__}: {failures[0]}"
    return answers, f"not all answered in {asked['time_limit_s']} s" if pending else None


class LowWater(threading.Thread):
    """The least memory that was free on any of these GPUs."""

    def __init__(self, gpus: list[int]) -> None:
        super().__init__(daemon=True)
        self.gib: float | None = None
        """None: there is no nvidia-smi, or it does not answer."""
        self._gpus = gpus
        self._over = threading.Event()

    def run(self) -> None:
        smi = shutil.which("nvidia-smi")
        while smi and self._gpus and self._sample(smi) and not self._over.wait(SAMPLE_S):
            pass

    def end(self) -> float | None:
        self._over.set()
        self.join(SMI_TIMEOUT_S)
        return self.gib

    def _sample(self, smi: str) -> bool:
        words = [smi, "--query-gpu=memory.free", "--format=csv,noheader,nounits"]
        try:
            told = subprocess.run(
                [*words, "-i", ",".join(map(str, self._gpus))],
                capture_output=True,
                check=True,
                text=True,
                timeout=SMI_TIMEOUT_S,
            ).stdout
            free = min(float(line) / 1024 for line in told.splitlines())
        except (OSError, ValueError, subprocess.SubprocessError):
            return False
        self.gib = free if self.gib is None else min(self.gib, free)
        return True


def asked_of_itself(url: str, key: str | None) -> bytes:
    try:
        return fetch(url + "/server_info", key, timeout=INFO_TIMEOUT_S)
    except urllib.error.HTTPError as absent:
        if absent.code != 404:
            raise
        return fetch(url + "/get_server_info", key, timeout=INFO_TIMEOUT_S)


def info(url: str, key: str | None) -> dict[str, Any]:
    """What bounds it, as it says itself, and its accept length. Of an answer that holds its key
    too, so nothing else of it goes on."""
    said = json.loads(asked_of_itself(url, key))
    state = (said.get("internal_states") or [{}])[0]
    chunk, input_len = said.get("chunked_prefill_size"), said.get("max_req_input_len")
    running = state.get("effective_max_running_requests_per_dp")
    return {
        "chunk": chunk if chunk and chunk > 0 else said.get("max_prefill_tokens"),
        "running": running and running * (said.get("dp_size") or 1),
        "context": said.get("context_length") or input_len,
        "pool": said.get("max_total_num_tokens"),
        "accept_length": state.get("avg_spec_accept_length"),
        "sglang": said.get("version"),
    }


def burst(asked: dict[str, Any], key: str | None) -> dict[str, Any]:
    low_water = LowWater(asked["gpus"])
    low_water.start()
    before, began = waits(asked["pid"]), time.monotonic()
    answers, error = asyncio.run(all_at_once(asked, key))
    seconds = time.monotonic() - began
    starved = waited(before, waits(asked["pid"]), seconds)
    sums = {
        name: sum(int(one.get(f"{key_}_tokens") or 0) for one in answers)
        for name, key_ in (
            ("prompt_tokens", "prompt"),
            ("generated_tokens", "completion"),
            ("cached_tokens", "cached"),
        )
    }
    told = {"error": error, "answered": len(answers), "seconds": seconds, "waited": starved, **sums}
    return {**told, "low_water_gib": low_water.end()}


def told(asked: dict[str, Any]) -> dict[str, Any]:
    """Everything that is printed."""
    pid, port = asked["pid"], urllib.parse.urlsplit(asked["url"]).port or 80
    said: dict[str, Any] = {"error": None, "requests": sum(n for n, _ in asked["prompts"])}
    try:
        key = api_key(pid)
        if not listens(pid, port):
            return {**said, "error": "it does not listen on its port"}
        if asked["prompts"]:
            said |= burst(asked, key)
        if not listens(pid, port):
            return {**said, "error": said["error"] or "its process no longer listens"}
        said["info"] = info(asked["url"], key)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        said["error"] = said["error"] or f"{type(error).__name__}: {error}"
    return said


def bounded(seconds: float) -> None:
    """Ends with whoever runs it, and in any case then."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    signal.alarm(int(seconds))
    # Each request is a connection.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    bounded(wanted["time_limit_s"] + 120)
    print(json.dumps(told(wanted)), flush=True)
