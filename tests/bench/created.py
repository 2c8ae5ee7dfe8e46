"""Containers made and started, without anything in them: by Stoker, and by hand."""

import re
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stoker.container import configuration
from stoker.refused import Refused
from stoker.sandbox import inventory

from . import ways
from .eight import Eight
from .rows import Aim
from .ways import Way

OURS = "Stoker, in one run"
ONE_BY_ONE = "Stoker, a run for each (`--limit`)"
BY_HAND = "by hand, one after another: pct create, pct set, pct start"
_PASSED = re.compile(r"(?:dev|mp)\d+")
# These, and what Proxmox makes up itself.
_APART = re.compile(r"(?:dev|mp)\d+|arch|ostype|rootfs")
_MADE_PART = re.compile(r",?(?:hwaddr|type)=[^,]*")
_UP = """
for vmid; do
    until lxc-attach -n "$vmid" -- systemctl is-system-running --wait 2>/dev/null |
        grep -qE 'running|degraded|maintenance'
    do sleep 0.2; done
done
"""


def measured(eight: Eight, say: Callable[[str], None]) -> list[Way]:
    """Each way in turn, from no container to all of them up: of ours the slower run, of others the
    faster. They are there before, and after."""
    declared = _shapes(eight)
    script = by_hand(eight)
    runs = []
    for way in (_at_once, _one_by_one, lambda one: _typed(one, script), _at_once):
        eight.remove()
        runs.append(way(eight))
        say(f"    {runs[-1].name}: {runs[-1].seconds:.1f} s, {runs[-1].said}")
        if _shapes(eight) != declared:
            raise Refused(f"cannot compare {runs[-1].name}: it made other containers")
    ours = [way for way in runs if way.name == OURS]
    return [*ways.medians(ours), *ways.cheapest(way for way in runs if way.name != OURS)]


def aims(found: list[Way]) -> list[Aim]:
    """Of which nothing was promised in numbers."""
    by_name = {way.name: way.seconds for way in found}
    return [
        Aim(f"{what}, beside one run for all", "", f"{by_name[name] / by_name[OURS]:.1f}x", None)
        for what, name in (("a run for each container", ONE_BY_ONE), ("by hand", BY_HAND))
    ]


def by_hand(eight: Eight) -> str:
    """What somebody types who knows each value before; made of the containers that are there."""
    homes = {one.vmid: inventory.wanted(eight.state, one) for one in eight.state.containers}
    lines = [
        line
        for vmid, text in eight.configurations().items()
        for line in typed(vmid, configuration.parse(text).keys, homes[vmid])
    ]
    return "\n".join(["set -e", *lines, _UP])


def typed(vmid: int, keys: Mapping[str, str], home: Mapping[str, Any]) -> list[str]:
    """The lines that make a container with these keys; `home` says its template and storage."""
    plain = {key: _own(value) for key, value in keys.items() if not _APART.fullmatch(key)}
    passed = {key: value for key, value in keys.items() if _PASSED.fullmatch(key)}
    made = {"storage": home["storage"], "rootfs": f"{home['storage']}:{home['rootfs_gib']}"}
    return [
        shlex.join(["pct", "create", str(vmid), home["template"], *_options(made | plain)]),
        shlex.join(["pct", "set", str(vmid), *_options(passed)]),
        f"pct start {vmid}",
    ]


def _at_once(eight: Eight) -> Way:
    run = eight.deploy("alone.py")
    return Way(OURS, run.seconds, said=_said(run.pct_starts, run.processor_s))


def _one_by_one(eight: Eight) -> Way:
    runs = [eight.deploy("alone.py", limit=f"ct{vmid}") for vmid in eight.vmids]
    used = sum(run.processor_s for run in runs)
    said = _said(sum(run.pct_starts for run in runs), used)
    return Way(ONE_BY_ONE, sum(run.seconds for run in runs), said=said)


def _typed(eight: Eight, script: str) -> Way:
    starts, used = eight.counts()
    began = time.monotonic()
    eight.on_node("bash", "-c", script, "bash", *map(str, eight.vmids))
    seconds = time.monotonic() - began
    starts_after, used_after = eight.counts()
    return Way(BY_HAND, seconds, said=_said(starts_after - starts, used_after - used))


def _said(starts: int, processor_s: float) -> str:
    return f"{starts} starts of pct, {processor_s:.0f} s of processor time on the node"


def _shapes(eight: Eight) -> dict[int, Mapping[str, str]]:
    """Each container without what Proxmox makes up anew."""
    texts = eight.configurations().items()
    return {
        vmid: {key: _own(value) for key, value in configuration.parse(text).keys.items()}
        for vmid, text in texts
    }


def _own(value: str) -> str:
    return _MADE_PART.sub("", value)


def _options(values: Mapping[str, str]) -> Iterable[str]:
    return (f"--{key}={value}" for key, value in values.items())
