"""The node of one container, as operations on the container reach it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stoker.container.wanted import Wanted
from stoker.facts import proxmox_node
from stoker.facts.proxmox_node import NodeLook
from stoker.operations import passthrough
from stoker.operations.container.planning import Plan, plan
from stoker.operations.scratch import SCRATCH
from stoker.pct.client import Result
from stoker.proxmox import opening
from stoker.proxmox.access import Access
from stoker.proxmox.backend import Backend
from stoker.refused import Refused

LASTING = (
    SCRATCH
    + r"""
scratch /run/stoker-pct
printf '%q ' exec "${@:2}" 2>/dev/null >"$work/words" || {
    rm -rf -- "$work"
    echo "no room in /run for the words of a command, which was not run; make some" >&2
    exit 1
}
systemd-run --quiet --collect --wait --service-type=exec --unit="stoker-pct-$1-${work##*.}" \
    --property="StandardOutput=file:$work/out" --property="StandardError=file:$work/err" \
    -- /bin/bash "$work/words"
code=$?
cat "$work/out"
cat "$work/err" >&2
rm -rf -- "$work"
exit $code
"""
)
"""A VMID, then a command, which goes on to its end where a run ends in the middle, as with a laptop
that goes to sleep: half a creation or a snapshot would have to be cleared away by hand.

What it says goes to files, since who writes to nobody is ended by that. Its words come from one,
since systemd would put variables in the place of `${...}` in a description or a path.
"""
LOOK_S = 40
"""The look bounds each of its own steps; this is for a machine that answers nothing any more."""
STORAGES = "/etc/pve/storage.cfg"


@dataclass(frozen=True)
class Way:
    """To one container through its node: what is wanted of it, and how it is changed."""

    host: Any
    wanted: Wanted
    access: Access

    @property
    def vmid(self) -> int:
        return int(self.host.connector.vmid)

    def look(self) -> NodeLook:
        """Raises OSError."""
        sources = [mount.source for mount in self.wanted.mounts if mount.is_bind]
        return proxmox_node.look(lambda words: self.run(words, LOOK_S), sources)

    def plan(self) -> Plan:
        """What is to be done now; raises OSError or Refused."""
        return plan(self.vmid, self.wanted, self.look())

    def backend(self) -> Backend:
        """Raises OSError or Refused."""
        name = str(self.host.connector.node.facts["node"]).partition(".")[0]
        return opening.backend(self.access, name, self.lasting)

    def storages(self) -> str:
        """Which storages there are, as Proxmox has written it down; empty: that is not known."""
        ran = self.run(["cat", STORAGES], LOOK_S)
        return ran.stdout.decode("utf-8", "replace") if ran.code == 0 else ""

    def rewrite(self, before: str, after: str) -> None:
        """Put this in place of its configuration file, which no `pct` does with raw lines; raises
        OSError."""
        passthrough.migrated(self.host.connector.node, self.vmid, before, after)

    def run(self, words: Sequence[str], timeout_s: float | None) -> Result:
        """A command on the node itself; raises OSError."""
        ran: Result = self.host.connector.node.run(words, timeout=timeout_s)
        return ran

    def lasting(self, words: Sequence[str], timeout_s: float | None) -> Result:
        """The same for what goes on to its end even if this run does not."""
        return self.run(["bash", "-c", LASTING, "lasting", str(self.vmid), *words], timeout_s)


def reached(host: Any) -> None:
    """Raises Refused for a host that is no container behind a node."""
    if getattr(host.connector, "vmid", None) is None:
        raise Refused(
            f"cannot manage the container {host.name}: it is not reached through its node; name it "
            "@pct/NODE/VMID, or take `container` out of its data"
        )
