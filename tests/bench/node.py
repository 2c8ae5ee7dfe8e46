"""What the bench asks of the node itself: how often pct was started, and what a start costs."""

import shlex
from pathlib import Path

from stoker.refused import Refused
from stoker.sandbox.state import Node, State

from .process import finished

# In front of the stand-in: one line a start, whoever starts it.
_COUNTER = """#!/bin/sh
echo "$1" >>/run/stoker-bench-starts
exec /usr/lib/stoker-bench/pct "$@"
"""
_INSTALL = """
set -e
test -L /usr/sbin/pct || exit 0
mkdir -p /usr/lib/stoker-bench
ln -sf "$(readlink -f /usr/sbin/pct)" /usr/lib/stoker-bench/pct
printf %s "$1" >/usr/lib/stoker-bench/counter
chmod 755 /usr/lib/stoker-bench/counter
mv /usr/lib/stoker-bench/counter /usr/sbin/pct
: >>/run/stoker-bench-starts
"""
_COST = """
import resource, subprocess
for _ in range(3):
    subprocess.run(["pct", "list"], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print((used.ru_utime + used.ru_stime) / 3)
"""


def on_node(state: State, node: Node, *words: str) -> str:
    """Standard output of a command on the node, over OpenSSH."""
    options = [f"UserKnownHostsFile={state.known_hosts}", "StrictHostKeyChecking=yes"]
    flags = [flag for option in (*options, "BatchMode=yes") for flag in ("-o", option)]
    login = ["-i", str(state.ssh_key), "-p", str(node.ssh_port), f"root@{node.address}"]
    return finished(["ssh", *flags, *login, shlex.join(words)], Path("/"), {}).stdout


def count_pct_starts(state: State) -> None:
    """Put a counter in front of pct on every node; a second time changes nothing."""
    for node in state.nodes:
        on_node(state, node, "sh", "-c", _INSTALL, "sh", _COUNTER)


def pct_starts(state: State) -> int:
    """How many times pct was started on all nodes since they count."""
    told = [on_node(state, node, "wc", "-l", "/run/stoker-bench-starts") for node in state.nodes]
    return sum(int(line.split()[0]) for line in told)


def pct_cost_s(state: State) -> float:
    """CPU-seconds of one start; `Refused` where it is far from a real pct's 0.55 to 0.65."""
    cost = float(on_node(state, state.nodes[0], "python3", "-c", _COST))
    if not 0.5 <= cost <= 0.9:
        raise Refused(
            f"cannot measure against pct: one start costs {cost:.2f} CPU-seconds on node "
            f"{state.nodes[0].name}, a real one 0.6; turn the stand-in's start-up cost on"
        )
    return cost
