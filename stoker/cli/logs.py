"""Log files as somebody sends them: opened and read in blocks, unpacked, or refused in words."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterator
from itertools import chain

from stoker.cli.streams import BLOCK, Asked, shown

_GZIP = b"\x1f\x8b"
_PACKED = {
    b"\xfd7zXZ\0": "compressed by xz; unpack it first, with xz -dk",
    b"BZh": "compressed by bzip2; unpack it first, with bzip2 -dk",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it first, with zstd -d",
    b"PK\x03\x04": "a zip archive; unpack it and name the log in it",
    b"LPKSHHRH": "a journal of systemd; export it first, with journalctl --file",
    b"\xff\xfe": "text in UTF-16; change it first, with iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "text in UTF-16; change it first, with iconv -f UTF-16 -t UTF-8",
}
_TEXT = bytes({*range(0x20, 0x7F), *range(0x80, 0x100), *b"\a\b\t\n\v\f\r\x1b"})
_ASKED = Asked("diagnose", "log file")


def size(name: str) -> int | None:
    """Bytes of the file; None: nobody knows, as of standard input."""
    try:
        status = os.stat(name)  # noqa: PTH116 - pathlib's import takes longer than most logs
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def chunks(
    name: str,
    count: Callable[[int], object] = lambda read: None,
    note: Callable[[str], object] = lambda said: None,
) -> Iterator[bytes]:
    """The log in blocks, unpacked if it is gzip, however it is called; `-` is standard input.

    `count` is told how many bytes were read each time, `note` that the end of it is missing. Raises
    `Refused`, at once or on the way, if it cannot be read or is no text.
    """
    blocks = _ASKED.blocks(name, _ASKED.opened(name), count)
    first = next(blocks, b"")
    blocks = chain([first], blocks) if first else blocks
    if first.startswith(_GZIP):
        blocks = _unpacked(name, blocks, note)
        first = next(blocks, b"")
        blocks = chain([first], blocks)
    if not first:
        raise _ASKED.refused(
            name, "it is empty; send what the server wrote, as journalctl -u UNIT has it"
        )
    if what := _no_text(first):
        raise _ASKED.refused(name, f"it is {what}")
    return blocks


def _unpacked(name: str, blocks: Iterator[bytes], note: Callable[[str], object]) -> Iterator[bytes]:
    """gzip's contents, of several members too; where it was cut off, what there is."""
    member = zlib.decompressobj(wbits=31)
    for block in blocks:
        more = True
        while more:
            try:
                unpacked = member.decompress(block, BLOCK)
            except zlib.error:
                raise _ASKED.refused(name, "its gzip data is damaged; send it again") from None
            if unpacked:
                yield unpacked
            block = member.unconsumed_tail
            more = bool(block) or len(unpacked) == BLOCK
            if member.eof:
                block = member.unused_data
                if not block.startswith(_GZIP[:1]):  # the end, or padding
                    return
                more, member = True, zlib.decompressobj(wbits=31)
    if not member.eof:
        note(f"{shown(name)}: its gzip data is cut off, so the end of the log is missing")


def _no_text(head: bytes) -> str:
    """What it is instead, and what to do; empty: text."""
    for magic, what in _PACKED.items():
        if head.startswith(magic):
            return what
    if head[257:262] == b"ustar":
        return "a tar archive; unpack it and name the log in it"
    letters, others = head[0:400:2], head[1:400:2]
    if len(head) >= 40 and not any(others) and all(letters):
        return _PACKED[b"\xff\xfe"].replace("-f UTF-16 ", "-f UTF-16LE ")
    # A crash leaves blocks of zeros in a log. They alone make no binary file of it.
    written = head.replace(b"\0", b"")
    other = len(written.translate(None, delete=_TEXT))
    if len(written) * 4 < len(head) or other * 50 > len(written):
        return "a binary file; name the server's log"
    return ""
