"""A file system of one file, whose server stops answering when told to: `dead_mount.py FOLDER`.

A line on its standard input tells it. Whoever asks for anything after that waits until this
process is ended. FUSE, spoken by hand.
"""

import errno
import os
import select
import struct
import subprocess
import sys
import time

LOOKUP, GETATTR, OPEN, INIT = 1, 3, 14, 26
FILE = "file"
_DIRECTORY, _REGULAR = 0o040755, 0o100644


def attributes(inode: int, mode: int) -> bytes:
    """struct fuse_attr."""
    return struct.pack("=6Q10I", inode, 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 512, 0)


def answer(opcode: int, node: int) -> bytes | None:
    """The body of an answer that is valid for no time at all; None: not implemented."""
    if opcode == INIT:
        return struct.pack("=4I2H2I2H8I", 7, 31, 65536, 0, 8, 8, 65536, 1, 0, 0, *[0] * 8)
    if opcode == LOOKUP:
        return struct.pack("=4Q2I", 2, 0, 0, 0, 0, 0) + attributes(2, _REGULAR)
    if opcode == GETATTR:
        mode = _DIRECTORY if node == 1 else _REGULAR
        return struct.pack("=Q2I", 0, 0, 0) + attributes(node, mode)
    if opcode == OPEN:
        return struct.pack("=Q2I", 1, 0, 0)
    return None


def main(folder: str) -> None:
    """Mount, serve until told to stop, then sit there."""
    server = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0"
    mount = ["mount", "-i", "-t", "fuse", "-o", options, "stoker-test", folder]
    subprocess.run(mount, check=True, pass_fds=[server])
    print("mounted", flush=True)
    while True:
        ready, _, _ = select.select([server, 0], [], [])
        if 0 in ready:
            break
        request = os.read(server, 1 << 20)
        _, opcode, unique, node = struct.unpack_from("=IIQQ", request)
        body = answer(opcode, node)
        error = -errno.ENOSYS if body is None else 0
        head = struct.pack("=IiQ", 16 + len(body or b""), error, unique)
        os.write(server, head + (body or b""))
    print("silent", flush=True)
    time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1])
