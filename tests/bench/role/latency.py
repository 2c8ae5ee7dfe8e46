"""The time of one command: `true`, over and over; milliseconds into the file $BENCH_LATENCY."""

import json
import os
import time
from pathlib import Path

from pyinfra import host
from pyinfra.api import StringCommand

host.run_shell_command(StringCommand("true"))  # the first one also enters the container
taken = []
for _ in range(int(os.environ["BENCH_REPEATS"])):
    begun = time.perf_counter()
    host.run_shell_command(StringCommand("true"))
    taken.append((time.perf_counter() - begun) * 1000)
Path(os.environ["BENCH_LATENCY"]).write_text(json.dumps(taken))
