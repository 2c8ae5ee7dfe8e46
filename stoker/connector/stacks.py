"""A faster look at the call stack for pyinfra.

For every operation and host pyinfra 3.10 asks `inspect.stack()` who called it, and that reads the
source lines around each frame, which nobody looks at: over eight containers a fifth of the whole
run's work on the operator's machine (`tests/bench`). Without the lines it is the same answer.
"""

import inspect
from functools import partial

from pyinfra.api import util


def without_source() -> None:
    """From here on pyinfra's own look at the stack reads no source."""
    if util.stack is inspect.stack:
        util.stack = partial(inspect.stack, 0)
        util.getframeinfo = partial(inspect.getframeinfo, context=0)
