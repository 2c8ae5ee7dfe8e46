"""Warnings that a run gives once: operations are gone through before Execute and again in it."""

from typing import Any
from weakref import WeakKeyDictionary

from pyinfra import logger

from stoker.health.wording import printable

_TOLD: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


def warned(host: Any, sentence: str) -> None:
    """Say it as a warning of this host, if this run has not."""
    told = _TOLD.setdefault(host, set())
    if sentence not in told:
        told.add(sentence)
        host.log_styled(printable(sentence, also="\n\t"), fg="yellow", log_func=logger.warning)
