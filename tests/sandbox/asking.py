"""Clients that ask servers for a token again and again, and take down what they missed."""

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.client import HTTPException

PAUSE_S = 0.25


@dataclass
class Client:
    """Of one server."""

    url: str
    asked: int = 0
    missed: list[float] = field(default_factory=list)
    """When, by a monotonic clock."""
    answered: float = 0

    def ask(self) -> None:
        """One question."""
        self.asked += 1
        body = json.dumps({"model": "tiny", "max_tokens": 1, "messages": []}).encode()
        request = urllib.request.Request(f"{self.url}/v1/chat/completions", body)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                tokens = json.load(answer)["usage"]["completion_tokens"]
        except (OSError, ValueError, HTTPException):
            tokens = 0
        if tokens >= 1:
            self.answered = time.monotonic()
        else:
            self.missed.append(time.monotonic())


class Clients:
    """One for each server, at once, for as long as the block lasts."""

    def __init__(self, urls: Iterable[str]) -> None:
        self.of = [Client(url) for url in urls]
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._loop, args=(one,)) for one in self.of]

    def __enter__(self) -> "Clients":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    @property
    def missed(self) -> dict[int, int]:
        """Number of the server -> questions that it did not answer; none: it is left out."""
        return {number: len(one.missed) for number, one in enumerate(self.of) if one.missed}

    def gaps(self) -> list[tuple[float, float]]:
        """From the first to the last miss of each server that missed any."""
        return [(min(one.missed), max(one.missed)) for one in self.of if one.missed]

    def until_all_answer(self, seconds: float) -> float:
        """Seconds until each has answered a question asked from now on."""
        began = time.monotonic()
        while any(one.answered < began for one in self.of):
            assert time.monotonic() - began < seconds, {o.url: len(o.missed) for o in self.of}
            time.sleep(0.1)
        return time.monotonic() - began

    def _loop(self, client: Client) -> None:
        while not self._ended.wait(PAUSE_S):
            client.ask()
