"""The frames that client and agent exchange: length, kind, call id, then raw bytes.

Headers are JSON, output and files are raw. A call has one id from its CALL to its DONE.
"""

import json
import struct
from typing import Any, Dict, Iterator, Tuple

HEAD = struct.Struct(">IBI")
MAGIC = b"\0stoker agent\n"  # before the first frame: whatever a login shell prints comes earlier
PING_S = 30.0  # how often the client says that it is there
# A client that holds a lock and is silent so long is gone, though no network said so. While
# pyinfra waits for an answer to a question of its own it cannot say that it is there.
SILENCE_S = 900.0
SLICE = 256 * 1024  # bytes in one frame of data: larger ones would make other calls wait

# client to agent
CALL = 1  # JSON: what to run
DATA = 2  # bytes for its standard input
END = 3  # end of its standard input
CANCEL = 4  # kill it, nobody waits for it any more
PING = 5  # the client is still there

# agent to client
HELLO = 16  # JSON: the node
OUT = 17  # bytes of standard output
ERR = 18  # bytes of standard error
TAKEN = 19  # four bytes: how many bytes of standard input were passed on
DONE = 20  # JSON: the exit code, or the error

Frame = Tuple[int, int, bytes]


def pack(kind: int, call: int, body: bytes = b"") -> bytes:
    """One frame as bytes."""
    return HEAD.pack(len(body), kind, call) + body


def pack_json(kind: int, call: int, header: Dict[str, Any]) -> bytes:
    """One frame with a JSON body."""
    return pack(kind, call, json.dumps(header).encode())


class Decoder:
    """Bytes in, whole frames out."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Every frame that is complete with `data`: (kind, call id, body)."""
        self._held += data
        start, size = 0, len(self._held)
        while size - start >= HEAD.size:
            length, kind, call = HEAD.unpack_from(self._held, start)
            end = start + HEAD.size + length
            if end > size:
                break
            yield kind, call, bytes(self._held[start + HEAD.size : end])
            start = end
        del self._held[:start]
