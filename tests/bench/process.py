"""Running a tool to its end, timed, with its output kept for the case that it fails."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from stoker.refused import Refused

LIMIT_S = 3600


@dataclass(frozen=True)
class Finished:
    """A process that ended well: its standard output and the seconds from its start to its end."""

    stdout: str
    seconds: float


def finished(words: list[str | Path], cwd: Path, env: dict[str, str]) -> Finished:
    """Run it in our environment less pyinfra's, Python's and Ansible's settings, plus `env`.

    `Refused` with the last lines of its output when it exits with anything but 0.
    """
    foreign = ("PYINFRA_", "PYTHON", "ANSIBLE_", "BENCH_")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    begun = time.perf_counter()
    result = subprocess.run(
        words,
        cwd=cwd,
        env=inherited | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    seconds = time.perf_counter() - begun
    if result.returncode:
        last = "\n".join((result.stdout + result.stderr).splitlines()[-30:])
        name = Path(words[0]).name
        raise Refused(f"cannot go on: {name} exited {result.returncode}; its last lines:\n{last}")
    return Finished(result.stdout, seconds)
