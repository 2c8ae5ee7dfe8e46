"""Logs to classify, made up of the lines that a real server prints, as long as one likes."""

import random
from collections.abc import Iterator

MB = 1_000_000
_BLOCK = 4 * MB
_PREFIX = "Jun 16 {clock} ct-a sglang[1500]: [2026-06-16 {clock}{rank}] "
_DECODE = (
    "Decode batch, #running-req: {a}, #token: {b}, token usage: 0.{a:02}, cuda graph: True, "
    "gen throughput (token/s): {b}.{a:02}, #queue-req: {a}"
)
_PREFILL = (
    "Prefill batch, #new-seq: {a}, #new-token: {b}, #cached-token: {b}, token usage: 0.{a:02}, "
    "#running-req: {a}, #queue-req: {a}, cuda graph: False, input throughput (token/s): {b}.{a:02}"
)
_ACCESS = 'INFO:     10.0.0.{a}:{b} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
_FAILED = "ERROR:    error: request {b} failed: out of memory error in cache {a}"
_ASKED = (
    "Receive: obj=GenerateReqInput(rid='{rid}', text='{text}', input_ids=None, "
    "sampling_params={{'temperature': 0.7, 'max_new_tokens': 512}}, return_logprob=False)"
)
# What stands around a word of a request's text.
_MARKED = ("{}",) * 12 + ("{}:", '"{}"', "/{}/", "`{}`,", "({})", "{}.py:", "error: {}", "{}\\n")
_LETTERS = "abcdefghijklmnop"


def traffic(megabytes: int) -> Iterator[bytes]:
    """A server under load: batches and requests."""
    return _repeated(megabytes, (_DECODE, _PREFILL, _ACCESS, _ACCESS))


def errors(megabytes: int) -> Iterator[bytes]:
    """The same, and every line holds `error`, which is nothing."""
    return _repeated(megabytes, (_FAILED,))


def unlike(megabytes: int) -> Iterator[bytes]:
    """Every line holds `error`, and no two of them are alike, digits or not."""
    chance = random.Random(3)
    lines = []
    for _ in range(_BLOCK // 160):
        words = " ".join("".join(chance.choices(_LETTERS, k=9)) for _ in range(8))
        lines.append(_PREFIX.format(clock="10:00:00", rank=" TP0") + f"{words} error")
    yield from _cut("\n".join(lines).encode() + b"\n", megabytes)


def requests(megabytes: int) -> Iterator[bytes]:
    """Logged requests: words, colons, slashes and quotes of their users', no two alike."""
    chance = random.Random(5)
    lines, size = [], 0
    while size < _BLOCK:
        text = " ".join(_said(chance) for _ in range(chance.randrange(10, 120)))
        asked = _ASKED.format(rid=f"{chance.getrandbits(128):032x}", text=text)
        lines.append(_PREFIX.format(clock="10:00:00", rank="") + asked)
        size += len(lines[-1])
    yield from _cut("\n".join(lines).encode() + b"\n", megabytes)


def marked(megabytes: int) -> Iterator[bytes]:
    """The words of such requests as lines of their own, which nothing real prints so many of."""
    chance = random.Random(7)
    head = _PREFIX.format(clock="10:00:00", rank="")
    lines = [
        head + " ".join(_said(chance) for _ in range(12)).replace("error: ", "")
        for _ in range(_BLOCK // 160)
    ]
    yield from _cut("\n".join(lines).encode() + b"\n", megabytes)


def _said(chance: random.Random) -> str:
    word = "".join(chance.choices(_LETTERS, k=chance.randrange(3, 10)))
    return chance.choice(_MARKED).format(word)


def _repeated(megabytes: int, kinds: tuple[str, ...]) -> Iterator[bytes]:
    chance = random.Random(3)
    lines = []
    for at in range(_BLOCK // 180):
        clock = f"{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}"
        said = kinds[at % len(kinds)].format(a=chance.randrange(64), b=chance.randrange(90_000))
        rank = " TP0" if "batch" in said else ""
        lines.append(_PREFIX.format(clock=clock, rank=rank) + said)
    yield from _cut("\n".join(lines).encode() + b"\n", megabytes)


def _cut(block: bytes, megabytes: int) -> Iterator[bytes]:
    for _ in range(max(1, megabytes * MB // len(block))):
        yield block
