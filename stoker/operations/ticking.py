"""A line now and then while something long runs: nobody waits in silence."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import gevent

PROGRESS_S = 10


@contextmanager
def ticking(say: Callable[[float], None]) -> Iterator[None]:
    """Call `say` every ten seconds with the seconds gone by; not at all if it is a quick one."""
    began = time.monotonic()

    def go_on() -> None:
        while True:
            gevent.sleep(PROGRESS_S)
            say(time.monotonic() - began)

    reporter = gevent.spawn(go_on)
    try:
        yield
    finally:
        reporter.kill(block=False)
