"""Files that others read at any moment: they see the old text or the new one, never a half."""

from __future__ import annotations

import os


def replace(path: str, text: str, mode: int = 0o644) -> None:
    """Put `text` at `path`, its folder made if need be; OSError as the kernel says it.

    The name in between begins with a dot and ends in its process: no collector takes it.
    """
    folder, name = os.path.split(path)
    os.makedirs(folder, mode=0o755, exist_ok=True)
    beside = os.path.join(folder, f".{name}.{os.getpid()}")
    made = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with open(made, "wb") as stream:
            stream.write(text.encode("utf-8", "replace"))
            os.fchmod(stream.fileno(), mode)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
