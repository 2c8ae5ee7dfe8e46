"""What memory a container has, what of it its own servers use, and what they may lock."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.serving.checking.question import Host

# By control groups of both kinds, from the shell's own upwards: a limit may be set on any level.
# Page cache counts as used there, and comes back when somebody needs it; what lies in /dev/shm
# is no such cache. A server's own is what its processes would give back if it were stopped.
_READ = r"""
root=$1 proc=$2 shm=$3
reclaimable() {
    cat "$1/memory.stat" 2>/dev/null | awk '
        $1 ~ /^(total_)?(active_file|inactive_file|slab_reclaimable)$/ { all[$1] = $2 }
        END { for (key in all) if (key ~ /^total_/ || !(("total_" key) in all)) sum += all[key]
        printf "%.0f", sum }'
}
usage() { cat "$1/memory.current" "$1/memory.usage_in_bytes" 2>/dev/null | head -n 1; }
sed -nE 's/^(MemTotal|MemAvailable): *([0-9]+) kB$/\1 \2/p' "$proc/meminfo"
if [ -f "$root/cgroup.controllers" ]; then
    top=$root own=$(sed -n 's/^0:://p' "$proc/self/cgroup")
else
    top=$root/memory own=$(sed -nE 's/^[0-9]+:([^:]*,)?memory(,[^:]*)?://p' "$proc/self/cgroup")
fi
[ -d "$top$own" ] || own=
level=$top$own
while :; do
    most=$(cat "$level/memory.max" "$level/memory.limit_in_bytes" 2>/dev/null | head -n 1)
    case $most in
    '' | max) ;;
    *) echo "limit $most $(usage "$level") $(reclaimable "$level")" ;;
    esac
    [ "$level" != "$top" ] && [ "$level" != "$top/" ] || break
    level=$(dirname "$level")
done
find "$top" "$root/systemd" -type d -name 'sglang*.service' 2>/dev/null | while read -r group; do
    unit=${group##*/} used=$(usage "$group")
    if [ -n "$used" ]; then
        echo "unit $unit $used $(reclaimable "$group")"
    else
        for pid in $(cat "$group/cgroup.procs" 2>/dev/null); do
            sed -nE "s/^RssAnon:[[:space:]]*([0-9]+) kB/process $unit \1/p" "$proc/$pid/status"
        done 2>/dev/null
    fi
done
df -B1 --output=size,avail "$shm" 2>/dev/null | sed -n '2s/^/shm /p'
sed -nE 's/^Max locked memory +[^ ]+ +([^ ]+).*/memlock \1/p' "$proc/1/limits"
sed -n '1s/^/uids /p' "$proc/self/uid_map"
grep -qs ' /proc/meminfo ' "$proc/self/mounts" && echo lxcfs
true
"""
_NO_LIMIT = 1 << 60
"""Control groups of the first kind say a number of pages for no limit."""
_ALL_UIDS = 4294967295


@dataclass(frozen=True)
class Limits:
    """Bytes, as the container itself sees them; None: nobody knows."""

    total: int | None = None
    available: int | None = None
    """What may still be used, with what the kernel would give back at once."""
    limit: int | None = None
    """The container's; None: there is none that shows from inside."""
    shm: int | None = None
    shm_free: int | None = None
    memlock: float | None = None
    """The hard limit, which a unit's LimitMEMLOCK=infinity reaches; infinity: there is none."""
    unprivileged: bool | None = None
    units: dict[str, int] = field(default_factory=dict)
    """What each of our servers would give back if it were stopped."""

    def host(self, stopped: Iterable[str]) -> Host:
        """The same for a check, in GB, as if these units did not run any more."""
        freed = sum(self.units.get(unit, 0) for unit in stopped)
        return Host(
            ram_gb=_gb(self.total),
            mem_available_gb=_gb(None if self.available is None else self.available + freed),
            ct_limit_gb=_gb(self.limit),
            shm_gb=_gb(self.shm),
            shm_free_gb=_gb(self.shm_free),
            memlock_gb=_gb(self.memlock),
            unprivileged=self.unprivileged,
        )


class MachineLimits(FactBase[Limits]):
    """`Limits`. Source: /proc/meminfo, memory.max and memory.stat, df, /proc/1/limits, uid_map."""

    @staticmethod
    def default() -> Limits:
        return Limits()

    def command(
        self, cgroup: str = "/sys/fs/cgroup", proc: str = "/proc", shm: str = "/dev/shm"
    ) -> StringCommand:
        words = map(QuoteString, (cgroup, proc, shm))
        return StringCommand("sh", "-c", QuoteString(_READ), "sh", *words)

    def process(self, output: list[str]) -> Limits:
        rows = [line.split() for line in output]
        said = {row[0]: row[1:] for row in rows}
        bounds = [tuple(map(int, row[1:])) for row in rows if row[0] == "limit" and len(row) == 4]
        bounds = [bound for bound in bounds if bound[0] < _NO_LIMIT]
        total, shown = _bytes(said.get("MemTotal")), _bytes(said.get("MemAvailable"))
        # lxcfs shows the container's limit as if it were all of the memory.
        limits = [bound[0] for bound in bounds] + [total or 0] * ("lxcfs" in said)
        left = [limit - max(0, used - cache) for limit, used, cache in bounds]
        shm, memlock, uids = said.get("shm"), said.get("memlock"), said.get("uids")
        return Limits(
            total=total,
            available=min([*left, *([shown] if shown is not None else [])], default=None),
            limit=min([one for one in limits if one], default=None),
            shm=int(shm[0]) if shm else None,
            shm_free=int(shm[1]) if shm else None,
            memlock=_memlock(memlock[0]) if memlock else None,
            unprivileged=int(uids[2]) < _ALL_UIDS if uids else None,
            units=_units(rows),
        )


def _units(rows: list[list[str]]) -> dict[str, int]:
    """By the control group, else by the processes: those of a group that counts no memory."""
    found: dict[str, int] = {}
    for row in rows:
        if row[0] == "process":
            found[row[1]] = found.get(row[1], 0) + int(row[2]) * 1024
    counted = (row for row in rows if row[0] == "unit" and len(row) == 4)
    return found | {unit: max(0, int(used) - int(cache)) for _, unit, used, cache in counted}


def _bytes(kilobytes: list[str] | None) -> int | None:
    return int(kilobytes[0]) * 1024 if kilobytes else None


def _memlock(hard: str) -> float:
    return math.inf if hard == "unlimited" else float(hard)


def _gb(size: float | None) -> float | None:
    return None if size is None else size / 1e9
