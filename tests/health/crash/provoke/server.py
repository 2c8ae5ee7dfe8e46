"""One start of a real SGLang: what is done to it while it runs, and how it ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.health.crash.provoke import world

PORT = 30000
READY = b"The server is fired up and ready to roll!"


class Server:
    """A process of SGLang, its output in one file as a journal would have it."""

    def __init__(self, words: list[str], env: dict[str, str], log: Path, user: int) -> None:
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                words,
                env=env,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                user=user,
                group=user,
                extra_groups=[],
                start_new_session=True,
            )

    def saw(self, text: bytes, seconds: float = 240) -> bool:
        """Wait until the log has it; False: the server ended, or time is up."""
        until = time.monotonic() + seconds
        while text not in self.log.read_bytes():
            if self.process.poll() is not None or time.monotonic() > until:
                return text in self.log.read_bytes()
            time.sleep(0.2)
        return True

    def ready(self) -> bool:
        return self.saw(READY)

    def find(self, title: str, seconds: float = 120) -> int:
        """The first process whose command line begins so, once there is one."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            lines = Path("/proc").glob("[0-9]*/cmdline")
            found = [p.parent.name for p in lines if p.read_bytes().startswith(title.encode())]
            if found:
                return min(map(int, found))
            time.sleep(0.05)
        raise TimeoutError(title)

    def kill(self, title: str, number: signal.Signals) -> None:
        os.kill(self.find(title), number)

    def end(self) -> None:
        """A stop on purpose, as systemd does it: TERM to the main process only."""
        self.process.terminate()

    def ask(self, path: str, body: dict[str, object] | None, seconds: float = 30) -> str:
        """The answer to one request, or the error's."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{PORT}{path}", data, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, OSError) as error:
            return str(error)

    def generate(self, text: str, tokens: int = 8) -> str:
        options = {"max_new_tokens": tokens, "ignore_eos": True}
        return self.ask("/generate", {"text": text, "sampling_params": options})

    def over(self, seconds: float) -> int | None:
        """The exit status as Python has it (negative: the signal); None: it still runs."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        time.sleep(2)
        return status


def command(model: str, flags: dict[str, str | None]) -> list[str]:
    """The command line. A flag whose value is None has none; one whose value is "-" is left out."""
    base: dict[str, str | None] = {
        "--model-path": f"{world.MODELS}/{model}",
        "--device": "cpu",
        "--attention-backend": "torch_native",
        "--mem-fraction-static": "0.2",
        "--max-total-tokens": "2048",
        "--context-length": "512",
        "--chunked-prefill-size": "256",
        "--max-running-requests": "8",
        "--served-model-name": "tiny",
        "--host": "127.0.0.1",
        "--port": str(PORT),
    }
    words = [f"{world.VENV}/bin/python", "-m", "sglang.launch_server"]
    for flag, value in (base | flags).items():
        if value != "-":
            words += [flag] if value is None else [flag, value]
    return words
