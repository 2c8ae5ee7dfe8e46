"""The few lines of a log that can matter, out of the millions that cannot.

Most lines of a served log differ only in their digits. A line without its digits, its skeleton, is
looked up among those known to be boring; only an unknown one is read. What is kept is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

BORING, PREFILL, DECODE, SERVED, FOREIGN, NEW = 0, 1, 2, 3, 4, 255
"""Kinds of a line. FOREIGN: boring, and not the program's. NEW: to be read."""
BATCHES = {PREFILL: "prefill", DECODE: "decode"}
_BLOCK = 256 * 1024
_LONGEST = 64 * 1024
"""Bytes of a line that are kept."""
_MOST_SKELETONS = 4096
_LONGEST_SKELETON = 600
_LAST = 12
_MANY = 64
_LOOK_AGAIN = 32
"""So many lines of a block that have become known since are a reason to look all of it up again."""
_DIGITS = b"0123456789"

Glance = Callable[[list[bytes], list[bytes], list[int]], Iterable[int]]
"""Gets lines, their skeletons, and which of them are unknown."""


class Sieve:
    """Reads chunks of any size; `read` is called with every line that is not known as boring."""

    def __init__(
        self,
        read: Callable[[int, bytes, Sieve], tuple[int, bool]],
        glance: Callable[[], Glance | None] = lambda: None,
    ) -> None:
        self.glance = glance
        """Gives what finds the boring ones among unknown skeletons; None: nothing does now."""
        self.read = read
        """Gets number, raw line and this; gives the line's kind, and whether the next line has to
        be read whatever it is."""
        self.known: dict[bytes, int] = {}
        self.kinds = bytearray()
        self.lines: list[bytes] = []
        self.at = 0
        self.before = 0
        """Lines in the blocks before this one."""
        self.batches_before = 0
        self.program_before = 0
        self.last_before: tuple[int, int, bytes] = (0, 0, b"")
        self.last_lines: list[bytes] = []
        self.wanted = False

    def feed(self, chunks: Iterable[bytes]) -> None:
        """All of the log."""
        for block in _blocks(chunks):
            self._block(block)
        self._close()
        self.lines, self.kinds, self.at = [], bytearray(), 0

    def batches(self) -> int:
        """Lines of prefill and decode batches before the line that is read now."""
        kinds = self.kinds
        here = kinds.count(PREFILL, 0, self.at) + kinds.count(DECODE, 0, self.at)
        return self.batches_before + here

    def program(self) -> int:
        """Boring lines of the program before the line that is read now."""
        kinds, at = self.kinds, self.at
        return self.program_before + at - kinds.count(FOREIGN, 0, at) - kinds.count(NEW, 0, at)

    def last_batch(self) -> tuple[int, int, bytes]:
        """Number, kind and raw line of the last batch before this line; number 0: none was."""
        kinds = self.kinds
        at = max(kinds.rfind(PREFILL, 0, self.at), kinds.rfind(DECODE, 0, self.at))
        if at < 0:
            return self.last_before
        return self.before + at + 1, kinds[at], self.lines[at]

    def _block(self, block: bytes) -> None:
        self._close()
        lines = block.split(b"\n")
        skeletons = block.translate(None, _DIGITS).split(b"\n")
        self.lines = lines
        kinds = self.kinds = bytearray(map(self.known.get, skeletons, repeat(NEW)))
        repeated = 0
        if kinds.count(NEW) > _MANY:
            self._glance(skeletons, kinds)
        at = 0 if self.wanted else kinds.find(NEW)
        while 0 <= at < len(lines):
            self.at = at
            skeleton = skeletons[at]
            kind = self.known.get(skeleton, NEW)
            if kind != NEW and not self.wanted:
                repeated += 1
                if repeated % _LOOK_AGAIN == 0:
                    rest = map(self.known.get, skeletons[at:], repeat(NEW))
                    kinds[at:] = bytearray(rest)
            else:
                found, self.wanted = self.read(self.before + at + 1, lines[at], self)
                if kind == NEW and found != NEW:
                    self._learn(skeleton, found)
                kind = found if kind == NEW else kind
            kinds[at] = kind
            at = at + 1 if self.wanted else kinds.find(NEW, at + 1)

    def _glance(self, skeletons: list[bytes], kinds: bytearray) -> None:
        """Many unknown lines at once: those of words only need not be read one by one."""
        glance = self.glance()
        if glance:
            unknown = [at for at, kind in enumerate(kinds) if kind == NEW]
            for at in glance(self.lines, skeletons, unknown):
                kinds[at] = BORING

    def _learn(self, skeleton: bytes, kind: int) -> None:
        if len(skeleton) > _LONGEST_SKELETON:
            return
        if len(self.known) >= _MOST_SKELETONS:
            self.known.clear()
        self.known[skeleton] = kind

    def _close(self) -> None:
        self.at = len(self.lines)
        self.batches_before, self.program_before = self.batches(), self.program()
        self.last_before = self.last_batch()
        self.before += len(self.lines)
        if self.lines:
            last = [line[:2000] for line in self.lines[-_LAST:]]
            self.last_lines = (self.last_lines + last)[-_LAST:]


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, joined by newlines, without the last one's; long lines cut."""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        for start in range(0, len(chunk), _BLOCK):
            piece = chunk[start : start + _BLOCK]
            end = piece.rfind(b"\n")
            if end < 0:
                if size < _LONGEST:
                    parts.append(piece[:_LONGEST])
                size += len(piece)
                continue
            parts.append(piece[:end])
            yield b"".join(parts)
            parts, size = [piece[end + 1 :][:_LONGEST]], len(piece) - end - 1
    if size:
        yield b"".join(parts)
