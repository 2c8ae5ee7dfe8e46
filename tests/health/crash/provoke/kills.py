"""Deaths from outside, and servers that live."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

from tests.health.crash.provoke import world
from tests.health.crash.provoke.scenario import Scenario
from tests.health.crash.provoke.server import Server

_SCHEDULER, _DETOKENIZER = "sglang::scheduler", "sglang::detokenizer"
# What the scheduler is called while it imports.
_CHILD = f"{world.VENV}/bin/python\0-c\0from multiprocessing.spawn"


def _killed(title: str, number: signal.Signals) -> Callable[[Server], object]:
    def act(server: Server) -> object:
        server.ready()
        server.generate("Hello", 16)
        time.sleep(1)
        server.kill(title, number)
        return f"{number.name} to {title} after a request"

    return act


def _loading(number: signal.Signals) -> Callable[[Server], object]:
    def act(server: Server) -> object:
        server.find(_CHILD)
        time.sleep(3)
        server.kill(_CHILD, number)
        return f"{number.name} to the scheduler while it imported"

    return act


def _decoding(server: Server) -> object:
    server.ready()
    threading.Thread(target=server.generate, args=("Hello", 400), daemon=True).start()
    server.saw(b"Decode batch", 60)
    server.kill(_SCHEDULER, signal.SIGKILL)
    return "SIGKILL to the scheduler in the middle of an answer"


def _main(number: signal.Signals) -> Callable[[Server], object]:
    def act(server: Server) -> object:
        server.ready()
        server.generate("Hello", 16)
        server.process.send_signal(number)
        return f"{number.name} to the main process"

    return act


def _group(server: Server) -> object:
    server.ready()
    os.killpg(server.process.pid, signal.SIGTERM)
    return "SIGTERM to all its processes"


def _stopped_while_loading(server: Server) -> object:
    server.saw(b"server_args=")
    time.sleep(3)
    server.end()
    return "SIGTERM to the main process three seconds after server_args="


def _user_errors(server: Server) -> object:
    server.ready()
    answers = [
        server.generate("x" * 3000),
        server.ask("/v1/chat/completions", {"model": "tiny", "messages": "no list"}),
        server.ask("/v1/absent", None),
        server.ask("/generate", {"text": 5}),
        server.ask("/generate", {"text": "a", "sampling_params": {"temperature": -3}}),
        server.generate("Hello", 8),
    ]
    server.end()
    return " | ".join(answer[:60] for answer in answers)


def _first_request(server: Server) -> object:
    server.ready()
    server.generate("Hello", 16)
    return "one request, if it came that far"


_TP: dict[str, str | None] = {"--tp-size": "2"}
_MAMBA: dict[str, str | None] = {"--mamba-scheduler-strategy": "extra_buffer"}

ALL = {
    "healthy_stop": Scenario(act=_main(signal.SIGTERM)),
    "healthy_user_errors": Scenario(act=_user_errors),
    "healthy_tp2": Scenario(_TP, act=_main(signal.SIGTERM)),
    "killed_scheduler": Scenario(act=_killed(_SCHEDULER, signal.SIGKILL)),
    "segfault_scheduler": Scenario(act=_killed(_SCHEDULER, signal.SIGSEGV)),
    "abort_scheduler": Scenario(act=_killed(_SCHEDULER, signal.SIGABRT)),
    "bus_error_scheduler": Scenario(act=_killed(_SCHEDULER, signal.SIGBUS)),
    "killed_scheduler_decoding": Scenario(act=_decoding),
    "killed_scheduler_loading": Scenario(act=_loading(signal.SIGKILL)),
    "segfault_scheduler_loading": Scenario(act=_loading(signal.SIGSEGV)),
    "killed_one_rank": Scenario(_TP, act=_killed(_SCHEDULER, signal.SIGKILL)),
    "killed_detokenizer": Scenario(act=_killed(_DETOKENIZER, signal.SIGKILL)),
    "killed_main": Scenario(act=_main(signal.SIGKILL)),
    "segfault_main": Scenario(act=_main(signal.SIGSEGV)),
    "interrupted_main": Scenario(act=_main(signal.SIGINT)),
    "term_group": Scenario(act=_group),
    "term_while_loading": Scenario(act=_stopped_while_loading),
    "mamba_on_llama": Scenario(_MAMBA, act=_first_request, versions=("0.5.12",)),
}
