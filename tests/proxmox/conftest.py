"""A Proxmox API on this machine (fakepve), and ways to it that never sleep."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from stoker.proxmox.access import Access
from stoker.proxmox.api import Session, shared
from stoker.proxmox.by_api import ByApi
from stoker.proxmox.pct import Pct

TOKEN = "stoker@pve!deploy"
SECRET = "5b1c7d1e-0000-4000-8000-c0ffee5ec2e7"
PASSWORD = "pass-word-never-shown"
TEMPLATE = "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""


@dataclass
class Shell:
    """A node's shell that remembers what was run and answers what it is told."""

    answers: dict[str, Ended] = field(default_factory=dict)
    """Of each `pct` verb."""
    ran: list[list[str]] = field(default_factory=list)

    def __call__(self, words: Sequence[str], timeout_s: float | None) -> Ended:
        self.ran.append(list(words))
        return self.answers.get(words[3], Ended())


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shell() -> Shell:
    return Shell()


@pytest.fixture
def data(fakepve: Any, fakepve_cafile: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The host data of a token that fakepve knows."""
    monkeypatch.setenv("STOKER_TOKEN", SECRET)
    fakepve.apitokens[TOKEN] = SECRET
    return {
        "backend": "token",
        "host": "127.0.0.1",
        "port": fakepve.port,
        "token": TOKEN,
        "secret_env": "STOKER_TOKEN",
        "ca_file": fakepve_cafile,
    }


@pytest.fixture
def ticket_data(
    fakepve: Any, data: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """The host data of root@pam with a password."""
    monkeypatch.setenv("STOKER_PASSWORD", PASSWORD)
    fakepve.password = PASSWORD
    del data["token"]
    return {**data, "backend": "ticket", "secret_env": "STOKER_PASSWORD"}


@pytest.fixture
def session(data: dict[str, Any], clock: Clock) -> Session:
    return Session(Access.of(data), clock.sleep, clock)


@pytest.fixture
def api(session: Session, shell: Shell) -> ByApi:
    return ByApi(session, "pve1", Pct(shell, "pve1"))


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No session outlives its fakepve."""
    yield
    shared.cache_clear()


Call = Callable[[], object]
