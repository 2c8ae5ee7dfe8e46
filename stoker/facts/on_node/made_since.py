"""Prints those of a node's paths that came to be, or were changed, since a container started.

Its words: VMID, paths. An end with an error: that is not known.
"""

import os
import subprocess
import sys
import time


def main() -> None:
    """A line each."""
    vmid, paths = sys.argv[1], sys.argv[2:]
    began = time.time() - age_s(pid_of_init(vmid))
    for path in paths:
        if os.path.exists(path) and os.stat(path).st_ctime >= began:
            print(path)


def pid_of_init(vmid: str) -> int:
    """Of a container that runs, as the node counts."""
    words = ["lxc-info", "-n", vmid, "-p", "-H"]
    ran = subprocess.run(words, stdout=subprocess.PIPE, check=True, timeout=20)
    return int(ran.stdout)


def age_s(pid: int) -> float:
    """Since the process was made. Its name may hold blanks and brackets."""
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stream:
        ticks = int(stream.read().rpartition(")")[2].split()[19])
    now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    return now_s - ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
