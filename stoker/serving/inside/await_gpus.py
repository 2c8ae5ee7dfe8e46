"""Waits until the GPUs of a unit are free, before its server is started (`ExecStartPre=`).

A server that starts onto memory which a dying one still holds only dies of that. Which GPUs: the
unit's own CUDA_VISIBLE_DEVICES, in nvidia-smi's order. Free: at most its baseline in use. Where
nobody can tell (no nvidia-smi, no answer in time), that is said, and the server is started.

Runs as the service's user under the venv's Python; imports nothing of ours.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

WAIT_S = 120
POLL_S = 2
TELL_S = 10
SMI_S = 20
BASELINE_MIB = 1024
"""What a GPU may use with nobody on it, until it is learned."""
TOLERANCE_MIB = 256
LEARNED = Path("/var/lib/stoker/gpu-baseline.json")
"""The node's own, if a container has been given it."""
SMI = ("nvidia-smi", "--query-gpu=index,uuid,memory.used", "--format=csv,noheader,nounits")


class UnknownError(Exception):
    """How much memory is in use cannot be told; why."""


def main(smi: tuple[str, ...] = SMI, clock: Any = time) -> int:
    """0: free, or nobody can tell; 1: still in use after the wait."""
    wanted = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
    began = told = clock.monotonic()
    while True:
        try:
            busy = in_use(wanted, asked(smi)) if wanted else {}
        except UnknownError as error:
            say(f"cannot tell whether GPU {', '.join(wanted)} is free: {error}; starting anyway")
            return 0
        waited = clock.monotonic() - began
        if not busy:
            if told > began:
                say(f"GPU {', '.join(wanted)} free after {waited:.0f} s")
            return 0
        if waited >= WAIT_S:
            say(
                f"cannot start: {shown(busy)} after {waited:.0f} s of waiting; who holds it can "
                "only be seen on the node: python3 /var/lib/stoker/stoker.pyz look"
            )
            return 1
        if told == began or clock.monotonic() - told >= TELL_S:
            told = max(clock.monotonic(), began + 0.001)
            say(f"waiting for memory: {shown(busy)} ({waited:.0f} of {WAIT_S} s)")
        clock.sleep(POLL_S)


def shown(busy: dict[str, tuple[int, int]]) -> str:
    """In words, every GPU that is not free."""
    return " and ".join(
        f"GPU {gpu} uses {used} MiB (free: at most {most})" for gpu, (used, most) in busy.items()
    )


def in_use(wanted: list[str], rows: list[list[str]]) -> dict[str, tuple[int, int]]:
    """Of the wanted GPUs (numbers or UUIDs) those above their baseline: MiB in use, and allowed."""
    learned = baselines()
    busy = {}
    for gpu in wanted:
        found = [row for row in rows if gpu == row[0] or row[1].startswith(gpu)]
        if not found:
            raise UnknownError(f"nvidia-smi does not show GPU {gpu}")
        _, uuid, used = found[0]
        if not used.isdigit():
            raise UnknownError(f"nvidia-smi says {used} for the memory of GPU {gpu}")
        most = learned.get(uuid, BASELINE_MIB)
        if int(used) > most:
            busy[gpu] = (int(used), most)
    return busy


def baselines() -> dict[str, int]:
    """UUID -> MiB; only what was learned, of whichever driver version used most."""
    try:
        found = json.loads(LEARNED.read_text())
        return {
            gpu: min(BASELINE_MIB, max(known.values()) + TOLERANCE_MIB)
            for gpu, known in found.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def asked(smi: tuple[str, ...]) -> list[list[str]]:
    """nvidia-smi's rows: index, UUID, MiB in use."""
    try:
        process = subprocess.Popen(
            smi,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    except OSError as error:
        raise UnknownError(f"nvidia-smi cannot be run ({error.strerror})") from error
    try:
        output, _ = process.communicate(timeout=SMI_S)
    except subprocess.TimeoutExpired:
        # Not waited for: inside the driver it may never die.
        process.kill()
        raise UnknownError(f"nvidia-smi did not answer in {SMI_S} s") from None
    if process.returncode != 0:
        first = next(iter(output.splitlines()), "nothing")
        raise UnknownError(f"nvidia-smi ended with {process.returncode}: {first}")
    rows = [[word.strip() for word in line.split(",")] for line in output.splitlines()]
    return [row for row in rows if len(row) == 3]


def say(text: str) -> None:
    """One line in the unit's journal, at once."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
