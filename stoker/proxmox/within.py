"""A time limit on a whole request. That of a socket is on each read: a byte a second keeps it."""

import threading
from collections.abc import Callable
from typing import TypeVar

import requests

_Result = TypeVar("_Result")


def within(limit_s: float, work: Callable[[], _Result]) -> _Result:
    """What `work` returns or raises; requests' ReadTimeout after `limit_s` seconds.

    Work that is late is left behind in a thread that ends with its connection or the program.
    """
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised in the other thread
            errors.append(error)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(limit_s)
    if errors:
        raise errors[0]
    if not results:
        raise requests.exceptions.ReadTimeout
    return results[0]
