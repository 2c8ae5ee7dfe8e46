"""Who listens on TCP ports and who has GPU nodes open, as seen inside the container."""

import re
from dataclasses import dataclass

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.facts.servers import REDACT

_HOLDERS = r"""
{
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null
    ls -l /proc/[0-9]*/fd 2>/dev/null
} | awk '
    $4 == "0A" { n = split($2, local, ":"); port[$10] = local[n]; next }
    /^\/proc\/[0-9]+\/fd:$/ { split($0, path, "/"); pid = path[3]; next }
    NF < 3 || $(NF - 1) != "->" { next }
    $NF ~ /^socket:\[/ {
        inode = substr($NF, 9, length($NF) - 9)
        if (inode in port) found[pid] = found[pid] " port:" port[inode]
    }
    $NF ~ /^\/dev\/nvidia[0-9]+$/ { found[pid] = found[pid] " gpu:" substr($NF, 12) }
    END { for (pid in found) print pid found[pid] }
' | sort -n | while read -r pid holds; do
    echo "Pid=$pid"
    echo "Holds=$holds"
    awk '/^(PPid|SigIgn):/ { sub(":", ""); print $1 "=" $2 }' "/proc/$pid/status"
    sed -n 's/^0::/Cgroup=/p; s/^[0-9]*:name=systemd:/Named=/p' "/proc/$pid/cgroup"
    tr '\0' '\n' < "/proc/$pid/cmdline" | awk "$1"'{ print "Word=" redact($0, last); last = $0 }'
    echo
done 2>/dev/null
true
"""
_SIGHUP_IGNORED = 1
_SERVER_WORDS = re.compile(r"sglang[._]launch_server|sglang_launch_server|sglang::|/sglang$")


@dataclass(frozen=True)
class Holder:
    """A process that listens or has a GPU open."""

    pid: int
    """In the container's own numbering."""
    parent: int
    ports: frozenset[int]
    """TCP ports it listens on, any address."""
    gpus: frozenset[int]
    """N of each /dev/nvidiaN it has open."""
    words: tuple[str, ...]
    """Its command line without secrets; empty for a process that has ended."""
    unit: str | None
    """The service it belongs to; None: started in a session, by `pct exec`, by hand."""
    survives_hangup: bool
    """It ignores SIGHUP, as after nohup."""

    @property
    def serves(self) -> bool:
        """Whether it looks like an SGLang server or one of its workers."""
        return any(_SERVER_WORDS.search(word) for word in self.words)

    def __str__(self) -> str:
        how = f"of {self.unit}" if self.unit else "started by hand"
        nohup = " with nohup" if self.survives_hangup and not self.unit else ""
        return f"process {self.pid} ({how}{nohup}): {' '.join(self.words)}"


class Holders(FactBase[list[Holder]]):
    """Processes that listen on TCP or hold /dev/nvidiaN, by pid.

    Source: /proc/net/tcp, /proc/<pid>/{fd,cgroup,cmdline,status}. Nobody: `[]`.
    """

    @staticmethod
    def default() -> list[Holder]:
        return []

    def command(self) -> StringCommand:
        return StringCommand("sh", "-c", QuoteString(_HOLDERS), "sh", QuoteString(REDACT))

    def process(self, output: list[str]) -> list[Holder]:
        holders, block = [], dict[str, list[str]]()
        for line in [*output, ""]:
            key, equals, value = line.partition("=")
            if equals:
                block.setdefault(key, []).append(value)
            elif block:
                holders.append(_holder(block))
                block = {}
        return holders


def _holder(block: dict[str, list[str]]) -> Holder:
    def one(key: str, absent: str = "") -> str:
        return block.get(key, [absent])[0]

    holds = [held.partition(":") for held in one("Holds").split()]
    # On a machine with cgroup v1 beside v2, systemd's own hierarchy is the named one.
    cgroup = max(one("Cgroup"), one("Named"), key=len)
    services = re.findall(r"/([^/]+\.service)(?=/|$)", cgroup)
    by_hand = not services or services[0].startswith("user@")
    return Holder(
        pid=int(one("Pid")),
        parent=int(one("PPid", "0")),
        ports=frozenset(int(value, 16) for kind, _, value in holds if kind == "port"),
        gpus=frozenset(int(value) for kind, _, value in holds if kind == "gpu"),
        words=tuple(block.get("Word", ())),
        unit=None if by_hand else services[0],
        survives_hangup=bool(int(one("SigIgn", "0"), 16) & _SIGHUP_IGNORED),
    )
