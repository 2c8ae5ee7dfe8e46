"""A line now and then while a long command of an operation runs: nobody waits in silence."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import gevent


@contextmanager
def told(say: Callable[[str], None], every_s: float = 20) -> Iterator[None]:
    """Say the seconds gone by for as long as the block takes; nothing if it is a quick one."""
    began = time.monotonic()

    def go_on() -> None:
        while True:
            gevent.sleep(every_s)
            say(f"still running after {time.monotonic() - began:.0f} s")

    reporter = gevent.spawn(go_on)
    try:
        yield
    finally:
        reporter.kill(block=False)
