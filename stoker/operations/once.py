"""Warnings that a run gives once: operations are gone through before Execute and again in it."""

from typing import Any
from weakref import WeakKeyDictionary

from pyinfra import logger

_TOLD: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


def warned(host: Any, sentence: str) -> None:
    """Say it as a warning of this host, if this run has not."""
    told = _TOLD.setdefault(host, set())
    if sentence not in told:
        told.add(sentence)
        host.log_styled(sentence, fg="yellow", log_func=logger.warning)
