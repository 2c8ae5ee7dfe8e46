"""What only a line that may matter holds, looked for in one line or in thousands at once.

To look for each sign in all of the lines together costs a tenth of looking into each of them.
"""

from __future__ import annotations

import bisect
from itertools import accumulate

_ANYWHERE = (
    b"error: ", b"Warning: ", b"loading shared", b": line ", b" fault", b"bad interp", b"CUDA cap",
    b"Caught sig", b"Restarting (", b"OOMKilled", b"ackOff", b"ack-off", b"/python", b"/sglang: ",
    b"t/s]", b"s/it]", b'File "', b'"POST /', b" [-", b"NCCL", b"\x1b", b"#[", b"last):", b"\r",
    b"Error:", b"Exception:", b"OutOfResources:",
)  # fmt: skip
"""At least what `signed` looks for, of lines without their digits."""


def unsigned(skeletons: list[bytes]) -> list[int]:
    """Which of them hold no sign, by number."""
    if not skeletons:
        return []
    joined = b"\n".join(skeletons)
    ends = list(accumulate(len(one) + 1 for one in skeletons))
    signed_ones: set[int] = set()
    for sign in _ANYWHERE:
        at = joined.find(sign)
        while at >= 0:
            row = bisect.bisect_right(ends, at)
            signed_ones.add(row)
            at = joined.find(sign, ends[row])
    return [row for row in range(len(skeletons)) if row not in signed_ones]


def signed(said: bytes) -> bool:
    """Whether it holds, anywhere in it, what only a line that may matter holds.

    Written out, as the cheapest of what was measured: an expression or a loop costs twice that.
    """
    return (
        (
            b": " in said
            and (
                b"error: " in said
                or b"Warning: " in said
                or b"loading shared" in said
                or b": line " in said
                or b" fault" in said
                or b"bad interp" in said
                or b"CUDA cap" in said
                or b"Caught sig" in said
            )
        )
        or (b"(" in said and b"Restarting (" in said)
        or b"OOMKilled" in said
        or b"ackOff" in said
        or b"ack-off" in said
        or (
            b"/" in said
            and (b"/python" in said or b"/sglang: " in said or b"t/s]" in said or b"s/it]" in said)
        )
        or (b'"' in said and (b'File "' in said or b'"POST /' in said))
        or b" [20" in said
        or b"NCCL" in said
        or b"\x1b" in said
        or b"#033[" in said
        or said.endswith((b"last):", b"last):\r"))
        or b"\r" in said[:-1]
        or _names(said)
    )


def _names(said: bytes) -> bool:
    """Whether it begins with the name of an exception."""
    at = said.find(b":", 0, 120)
    if at <= 0 or not said.endswith((b"Error", b"Exception", b"OutOfResources"), 0, at):
        return False
    return said.find(b" ", 0, at) < 0
