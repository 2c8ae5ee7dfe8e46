"""Asks servers of this machine for generated tokens. Run as root by the venv's Python.

argv[1]: JSON list of {"unit", "url", "model", "pid", "prompt", "max_tokens"}. Prints one JSON
object a line: {"unit", "tokens", "text", "error"}; `error` is null if a token of that model came.
The API key is read from the server's own environment (/proc/<pid>/environ): it is in no argv.
"""

import concurrent.futures
import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

HEALTH_TIMEOUT_S = 8
TOKEN_TIMEOUT_S = 60
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def api_key(pid: int) -> str | None:
    for entry in Path(f"/proc/{int(pid)}/environ").read_bytes().split(b"\0"):
        if entry.startswith(b"STOKER_API_KEY="):
            return entry.split(b"=", 1)[1].decode()
    return None


def listens(pid: int, port: int) -> bool:
    """Whether this very process listens there: else somebody else would answer for it."""
    rows = [line.split() for name in ("tcp", "tcp6") for line in _lines(Path("/proc/net") / name)]
    wanted = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and _port(row[1]) == port}
    return any(_target(link) in wanted for link in Path(f"/proc/{int(pid)}/fd").iterdir())


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:  # closed in between
        return ""


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()[1:] if path.exists() else []


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def fetch(
    url: str, key: str | None, body: dict[str, Any] | None = None, timeout: int = HEALTH_TIMEOUT_S
) -> bytes:
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = "Bearer " + key
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers)
    with _direct.open(request, timeout=timeout) as answer:
        return bytes(answer.read())


def generate(key: str | None, server: dict[str, Any]) -> Any:
    url = server["url"]
    # One token proves that it generates, even if the model would rather say nothing.
    body = {
        "model": server["model"],
        "max_tokens": server["max_tokens"],
        "ignore_eos": server["max_tokens"] == 1,
    }
    chat = dict(body, messages=[{"role": "user", "content": server["prompt"]}])
    try:
        return json.loads(fetch(url + "/v1/chat/completions", key, chat, TOKEN_TIMEOUT_S))
    except urllib.error.HTTPError as refused:
        if refused.code != 400:
            raise
        # A model without a chat template still completes text.
        plain = dict(body, prompt=server["prompt"])
        return json.loads(fetch(url + "/v1/completions", key, plain, TOKEN_TIMEOUT_S))


def ask(server: dict[str, Any]) -> dict[str, Any]:
    url, model = server["url"], server["model"]
    answer: dict[str, Any] = {"unit": server["unit"], "tokens": 0, "text": "", "error": None}
    try:
        key = api_key(server["pid"])
        if not listens(server["pid"], urllib.parse.urlsplit(url).port or 80):
            answer["error"] = "it does not listen on its port"
            return answer
        fetch(url + "/health", key)
        names = [m["id"] for m in json.loads(fetch(url + "/v1/models", key))["data"]]
        if model not in names:
            answer["error"] = f"serves {', '.join(names) or 'nothing'}, not {model}"
            return answer
        said = generate(key, server)
        answer["tokens"] = int((said.get("usage") or {}).get("completion_tokens") or 0)
        choice = (said.get("choices") or [{}])[0]
        message = choice.get("message") or {}
        answer["text"] = (
            message.get("content") or message.get("reasoning_content") or choice.get("text") or ""
        )
        if answer["tokens"] < 1:
            answer["error"] = "answered without a token"
    except (OSError, ValueError, KeyError, TypeError) as error:
        answer["error"] = f"{type(error).__name__}: {error}"
    return answer


if __name__ == "__main__":
    servers = json.loads(sys.argv[1])
    with concurrent.futures.ThreadPoolExecutor(max(1, len(servers))) as pool:
        for line in pool.map(ask, servers):
            print(json.dumps(line), flush=True)
