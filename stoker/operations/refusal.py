"""Failing one host with one sentence.

An exception in an operation ends the run for every host; a command that fails ends it for its own.
"""

from typing import Any

from pyinfra import logger
from pyinfra.api import FunctionCommand

from stoker.health.wording import printable


def failed(host: Any, sentence: object) -> bool:
    """False, once it is told: what a function command gives back for its host to fail."""
    for line in str(sentence).splitlines():
        host.log_styled(printable(line), fg="red", log_func=logger.error)
    return False


def _fail(state: Any, host: Any, sentence: str) -> bool:
    return failed(host, sentence)


def refused(sentence: object) -> FunctionCommand:
    """A command that fails this host and says why. Before Execute it counts as a change to come:
    what is in the way may be gone by the time it is this operation's turn."""
    return FunctionCommand(_fail, [str(sentence)], {})
