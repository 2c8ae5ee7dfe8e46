"""The mount points in the configuration of a node's containers."""

import re
from dataclasses import dataclass

from pyinfra.api import FactBase, QuoteString, StringCommand

# Read as a file: a start of `pct` costs half a second of Perl. The head is what runs,
# [pve:pending] what is to come; the other sections are snapshots.
_READ = """
for vmid in "$@"; do
    file=/etc/pve/lxc/$vmid.conf
    [ -e "$file" ] || continue
    echo "container $vmid"
    awk 'BEGIN {ours = 1} /^\\[/ {ours = ($0 == "[pve:pending]")} ours && /^mp[0-9]/' "$file"
done
"""


@dataclass(frozen=True)
class MountPoint:
    """`source` is a volume or a path on the node, `target` the path in the container."""

    source: str
    target: str


class MountPoints(FactBase[dict[int, dict[str, MountPoint]]]):
    """VMID -> `mpN` -> mount point, from `/etc/pve/lxc/<vmid>.conf` on the node. A container that
    the node does not have is left out."""

    def command(self, vmids: list[int]) -> StringCommand:
        words = [str(vmid) for vmid in vmids]
        return StringCommand("sh", "-c", QuoteString(_READ), "sh", *words)

    @staticmethod
    def default() -> dict[int, dict[str, MountPoint]]:
        return {}

    def process(self, output: list[str]) -> dict[int, dict[str, MountPoint]]:
        found: dict[int, dict[str, MountPoint]] = {}
        vmid = 0
        for line in output:
            if line.startswith("container "):
                vmid = int(line.split()[1])
                found[vmid] = {}
            elif entry := re.fullmatch(r"(mp\d+): (?:volume=)?([^,]*)(.*)", line):
                key, source, options = entry.groups()
                target = re.search(r",mp=([^,]*)", options)
                found[vmid][key] = MountPoint(source, target.group(1) if target else "")
        return found
