"""Progress lines on the command line: what is being done, and that it still is."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def shown(what: str, every_s: float = 20) -> Iterator[None]:
    """Print the line now, and again with the seconds gone by for as long as the block takes."""
    began, ended = time.monotonic(), threading.Event()
    print(f"  {what}", flush=True)

    def go_on() -> None:
        while not ended.wait(every_s):
            print(f"  {what}: {time.monotonic() - began:.0f} s", flush=True)

    reporter = threading.Thread(target=go_on, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()
