"""A prefill burst, sized so that a server that survives it has seen its worst.

What kills a server that was up and healthy is the first large prefill (INC3): activations grow
with the tokens of one batch, which chunked prefill bounds to a chunk. So some prompts are several
chunks long; enough short ones come with them that batches are filled from both and the running
requests reach their limit; and all are sent at once, which keeps the queue full until the end. The
operators' clients do the same: 150 short and 32 long at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stoker.serving.catalogue.parsed import Parsed

SHORT, LONG = 150, 32
"""Requests at once where nothing says how many may run: the operators' own load."""
MOST_AT_ONCE = 1024
ROUNDS = 2
"""Requests for each that may run: as many wait as run."""
GENERATED = 32
"""Tokens each request generates: decoding goes on beside the prefills."""
SHORT_TOKENS = 64
WHOLE_CHUNKS = 8
"""The longest prompt, in chunks, if the context has room: attention over a long prefix has
workspaces of its own."""
LONG_CHUNKS = 2.5
"""A long one: whole chunks, and a rest that leaves room for short ones in the same batch."""
MOST_CHUNKS = 48
"""Of all prompts together, about: what bounds the time."""
USUAL_CHUNK, USUAL_CONTEXT = 8192, 32768
"""Where neither the flags nor the server say."""
SLOW_TOKENS_PER_S = 500
"""A server slower than that is given up; the base is for kernels that are compiled meanwhile."""
BASE_S, MOST_S = 180, 1200


@dataclass(frozen=True)
class Limits:
    """What bounds one server's batches, tokens and requests. None: neither said nor known."""

    chunk: int | None = None
    """Most tokens of one prefill batch."""
    running: int | None = None
    queued: int | None = None
    """Most requests that may wait; None: any number."""
    context: int | None = None
    pool: int | None = None
    """Tokens that the KV pool holds."""


@dataclass(frozen=True)
class Burst:
    """Prompts of random tokens, all sent at once."""

    prompts: tuple[tuple[int, int], ...]
    """(how many, tokens of each), the longest first."""
    generated: int
    """Tokens that each request generates."""
    time_limit_s: int

    @property
    def requests(self) -> int:
        """How many, all at once."""
        return sum(count for count, _ in self.prompts)

    @property
    def tokens(self) -> int:
        """Of all prompts and answers."""
        return sum(count * (tokens + self.generated) for count, tokens in self.prompts)

    @property
    def words(self) -> str:
        """`1 of 8159, 22 of 8159 and 105 of 64 tokens at once, each for 32 more`."""
        if not self.prompts:
            return "no prompts"
        *first, last = (f"{count} of {tokens}" for count, tokens in self.prompts)
        listed = f"{', '.join(first)} and {last}" if first else last
        return f"{listed} tokens at once, each for {self.generated} more"


def limits_of(parsed: Parsed) -> Limits:
    """What the flags say."""
    chunk, ranks = parsed.get("chunked_prefill_size"), parsed.get("dp_size", 1)
    if chunk is not None and chunk <= 0:
        # Not chunked: a batch holds whole prompts up to another limit.
        chunk = parsed.get("max_prefill_tokens")
    running = parsed.get("max_running_requests")
    return Limits(
        chunk=chunk,
        running=running,
        queued=_times(parsed.get("max_queued_requests"), ranks),
        context=parsed.get("context_length"),
        pool=parsed.get("max_total_tokens"),
    )


def told(limits: Limits, info: Mapping[str, Any]) -> Limits:
    """The same with what the running server says of itself, which is what holds.

    `info`: of `inside/burst.py`; a key that is missing or null leaves what the flags say.
    """
    known = {key: info[key] for key in ("chunk", "running", "context", "pool") if info.get(key)}
    if limits.running is None and known.get("running", 0) > SHORT + LONG:
        # Its own default is thousands, and no wish of anybody's.
        del known["running"]
    return replace(limits, **known)


def burst(limits: Limits) -> Burst:
    """The burst for these limits."""
    chunk = limits.chunk or USUAL_CHUNK
    room = _room(limits, chunk)
    short = max(1, min(SHORT_TOKENS, room // 4))
    whole, long = min(room, WHOLE_CHUNKS * chunk), min(room, int(LONG_CHUNKS * chunk))
    requests = _requests(limits)
    longs = min(LONG, requests // 3, max(2, (MOST_CHUNKS * chunk - whole) // long))
    counts = [(1, whole), (longs, long), (requests - 1 - longs, short)]
    prompts = tuple((count, tokens) for count, tokens in counts if count > 0)
    sized = Burst(prompts, min(GENERATED, max(1, room // 16)), 0)
    seconds = min(MOST_S, BASE_S + sized.tokens // SLOW_TOKENS_PER_S)
    return replace(sized, time_limit_s=seconds)


def _room(limits: Limits, chunk: int) -> int:
    """Tokens that one prompt may have: context and pool must hold its answer too."""
    context = limits.context or max(USUAL_CONTEXT, chunk)
    # A pool is never filled to its last page by one request.
    pool = limits.pool * 7 // 8 if limits.pool else context
    return max(1, min(context, pool) - GENERATED - 8)


def _requests(limits: Limits) -> int:
    if limits.running is None:
        return SHORT + LONG
    wanted = min(ROUNDS * limits.running, MOST_AT_ONCE)
    if limits.queued is not None:
        wanted = min(wanted, limits.running + limits.queued)
    return max(3, wanted)


def _times(number: int | None, ranks: int) -> int | None:
    return None if number is None else number * ranks
