"""Dies as a real server did: its recorded log, then its recorded end."""

import os
import signal
import sys
import time
from pathlib import Path


def replay(log: str, end: str) -> None:
    """`end`: `exit 1`, or the name of a signal that it sends itself, `KILL`; `stay`: it hangs."""
    sys.stderr.buffer.write(Path(log).read_bytes())
    sys.stderr.flush()
    word, _, code = end.partition(" ")
    while word == "stay":
        time.sleep(3600)
    if word == "exit":
        os._exit(int(code))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.Signals[f"SIG{word}"])
