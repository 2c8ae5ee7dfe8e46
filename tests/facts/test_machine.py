"""What memory a container has, by the real command on trees like /sys/fs/cgroup and /proc."""

import math
from pathlib import Path

import pytest

from stoker.facts.machine import Limits, MachineLimits
from stoker.serving.checking.question import Host
from tests.facts.asked import asked

GB = 10**9
MEMINFO = "MemTotal:       438281250 kB\nMemFree:  1 kB\nMemAvailable:   390625000 kB\n"
LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max open files            1024                 524288               files
Max locked memory         8388608              16777216             bytes
"""
UNPRIVILEGED = "         0     100000      65536\n"


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A container without any limit that shows, in control groups of the second kind."""
    files = {
        "proc/meminfo": MEMINFO,
        "proc/1/limits": LIMITS,
        "proc/self/uid_map": UNPRIVILEGED,
        "proc/self/mounts": "proc /proc proc rw 0 0\n",
        "proc/self/cgroup": "0::/.lxc\n",
        "cgroup/cgroup.controllers": "memory\n",
        "cgroup/.lxc/cgroup.procs": "1\n",
        "cgroup/memory.max": "max\n",
    }
    put(tmp_path, files)
    return tmp_path


def limits(tree: Path) -> Limits:
    paths = {"cgroup": str(tree / "cgroup"), "proc": str(tree / "proc"), "shm": str(tree)}
    found = asked(MachineLimits(), **paths)
    assert isinstance(found, Limits)
    return found


def test_without_a_limit_the_kernel_s_own_estimate_counts(tree: Path) -> None:
    found = limits(tree)
    assert (found.total, found.available, found.limit) == (448_800_000_000, 400 * GB, None)
    assert (found.memlock, found.unprivileged, found.units) == (16777216, True, {})
    assert found.shm and found.shm_free and found.shm >= found.shm_free > 0


def test_the_page_cache_of_a_limited_container_is_no_used_memory(tree: Path) -> None:
    stat = f"anon {20 * GB}\nfile {100 * GB}\nshmem {10 * GB}\nslab_reclaimable {GB}\n"
    put(
        tree,
        {
            "cgroup/memory.max": f"{160 * GB}\n",
            "cgroup/memory.current": f"{130 * GB}\n",
            "cgroup/memory.stat": stat + f"inactive_file {60 * GB}\nactive_file {29 * GB}\n",
        },
    )
    found = limits(tree)
    assert (found.limit, found.available) == (160 * GB, 120 * GB)


def test_the_tightest_limit_of_all_levels_counts(tree: Path) -> None:
    put(
        tree,
        {
            "proc/self/cgroup": "0::/a/b\n",
            "cgroup/a/memory.max": "50000\n",
            "cgroup/a/memory.current": "20000\n",
            "cgroup/a/b/memory.max": "70000\n",
            "cgroup/a/b/memory.current": "65000\n",
        },
    )
    found = limits(tree)
    assert (found.limit, found.available) == (50000, 5000)


def test_control_groups_of_the_first_kind_are_read_and_their_no_limit_is_none(tree: Path) -> None:
    (tree / "cgroup/cgroup.controllers").unlink()
    (tree / "cgroup/memory.max").unlink()
    put(
        tree,
        {
            "proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/x\n",
            "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "cgroup/memory/x/memory.limit_in_bytes": "1000\n",
            "cgroup/memory/x/memory.usage_in_bytes": "900\n",
            "cgroup/memory/x/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n",
        },
    )
    found = limits(tree)
    assert (found.limit, found.available) == (1000, 400)


def test_behind_lxcfs_all_of_the_memory_is_the_limit(tree: Path) -> None:
    put(tree, {"proc/self/mounts": "lxcfs /proc/meminfo fuse.lxcfs rw 0 0\n"})
    assert limits(tree).limit == 448_800_000_000


def test_what_a_server_uses_comes_back_when_it_stops(tree: Path) -> None:
    units = "cgroup/system.slice/system-sglang.slice"
    put(
        tree,
        {
            f"{units}/sglang@0.service/memory.current": f"{50 * GB}\n",
            f"{units}/sglang@0.service/memory.stat": f"inactive_file {10 * GB}\n",
            f"{units}/sglang@1.service/cgroup.procs": "7\n8\n9\n",
            "proc/7/status": "Name:\tpython\nRssAnon:\t  2000000 kB\n",
            "proc/8/status": "RssAnon:\t  1000000 kB\nRssShmem:\t 5 kB\n",
            "cgroup/system.slice/ssh.service/memory.current": "1\n",
        },
    )
    found = limits(tree)
    assert found.units == {"sglang@0.service": 40 * GB, "sglang@1.service": 3_072_000_000}
    before, after = found.host(()), found.host(["sglang@0.service", "sglang@9.service"])
    assert (before.mem_available_gb, after.mem_available_gb) == (400, 440)


def test_no_limit_of_locked_memory_is_infinity_and_every_uid_is_privileged(tree: Path) -> None:
    put(tree, {"proc/self/uid_map": "         0          0 4294967295\n"})
    put(tree, {"proc/1/limits": LIMITS.replace("16777216 ", "unlimited")})
    found = limits(tree)
    assert (found.memlock, found.unprivileged) == (math.inf, False)
    assert found.host(()).memlock_gb == math.inf


def test_what_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    paths = {"cgroup": str(tmp_path), "proc": str(tmp_path), "shm": str(tmp_path / "none")}
    assert asked(MachineLimits(), **paths) == Limits() == MachineLimits().default()
    assert Limits().host(["sglang.service"]) == Host()


def test_this_machine_has_memory() -> None:
    found = asked(MachineLimits())
    assert found.total and found.available and 0 < found.available <= found.total
