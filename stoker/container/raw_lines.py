"""Raw `lxc.*` lines by which a container passes NVIDIA's devices, and their text without them.

A line names the numbers of the day on which it was written, and that of nvidia-uvm is another one
after a new kernel or driver. Which numbers are NVIDIA's is told by the node. A line that cannot be
told for NVIDIA's is left, which takes nothing away from anybody.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stoker.container import slots
from stoker.container.devices import Device
from stoker.health import passed
from stoker.health.passed import Rule

_LINE = re.compile(r"(lxc\.[a-z0-9_.-]+)(?:\s*:\s*|\s*=\s*)(.*)", re.IGNORECASE)
_SECTION = re.compile(r"\[[^\]]+\]\s*")
_KEY = re.compile(r"([a-z][a-z_-]*\d*):\s")
_NODE = re.compile(r"/dev/nvidia(\d+|ctl|-\S*|-caps(/.*)?)/?")
_FIXED = 195
_DEALT = frozenset({*range(234, 255), *range(384, 512)})
"""Majors that Linux deals out to who asks for any (its char_dev.c), so that a line may be of an
earlier boot. Any other major has one owner for good."""


@dataclass(frozen=True)
class Numbering:
    """What numbers are NVIDIA's on a node today."""

    numbers: Mapping[str, tuple[int, int]]
    """Of its device nodes, by path."""
    majors: Mapping[int, str]
    """Name of each character major in /proc/devices."""

    def owner(self, rule: Rule) -> str:
        """Who has what the rule is about, as /proc/devices calls it; empty: nobody does today."""
        if (rule.major, rule.minor) in self.numbers.values():
            return "nvidia"
        return self.majors.get(rule.major or 0, "nvidia" if rule.major == _FIXED else "")


@dataclass(frozen=True)
class Found:
    """The raw lines of one configuration that have to do with NVIDIA's devices."""

    lines: tuple[str, ...] = ()
    """NVIDIA's, as they stand there: rules that allow and mounts."""
    stale: tuple[str, ...] = ()
    """Those of them whose major is nobody's any more."""
    doubtful: tuple[str, ...] = ()
    """Sentences on rules that may have been NVIDIA's; they are left."""
    paths: tuple[str, ...] = ()
    """The node's paths that they mount."""
    effective: frozenset[str] = frozenset()
    """Those of the paths that the container can use today."""


def found(text: str, node: Numbering) -> Found:
    """NVIDIA's raw lines in a configuration file's text, in its main section."""
    main, _ = _parts(text)
    lines = [line for line in main if _is_raw(line)]
    mounts = [line for line in lines if _mounted(line)]
    rules = {line: rule for line in lines if (rule := _rule(line)) and not rule.deny}
    about = bool(mounts) or any(rule.major == _FIXED for rule in rules.values())
    ours, stale, doubtful = list(mounts), [], []
    for line, rule in rules.items():
        owner = node.owner(rule)
        if owner.startswith("nvidia"):
            ours.append(line)
        elif about and not owner and rule.major in _DEALT:
            ours.append(line)
            stale.append(line)
        elif about and rule.major in _DEALT:
            doubtful.append(
                f"{line.strip()}: is left, since major {rule.major} is {owner}'s today; take it "
                "out yourself if it was nvidia-uvm's"
            )
    paths = tuple(dict.fromkeys(path for line in mounts if (path := _mounted(line))))
    return Found(
        lines=tuple(line.strip() for line in lines if line in ours),
        stale=tuple(line.strip() for line in stale),
        doubtful=tuple(doubtful),
        paths=paths,
        effective=frozenset(_effective(text, paths, node)),
    )


def migrated(text: str, devices: Sequence[Device], node: Numbering) -> str:
    """The text with these devices as `devN` in place of NVIDIA's raw lines. Every other byte stays,
    with comments, sections and other raw lines (dri, tun)."""
    ours = set(found(text, node).lines)
    main, rest = _parts(text)
    kept = [line for line in main if not (_is_raw(line) and line.strip() in ours)]
    if kept == main:
        return text
    keys = {key[1]: line[key.end() :].strip() for line in main if (key := _KEY.match(line))}
    added = list(_added(devices, keys))
    at = next((n for n, line in enumerate(kept) if _is_raw(line)), _end(kept))
    if at and not kept[at - 1].endswith("\n"):
        kept[at - 1] += "\n"
    return "".join([*kept[:at], *added, *kept[at:], *rest])


def lines_for(devices: Sequence[Device], node: Numbering) -> tuple[str, ...]:
    """The raw lines that pass these devices where there is no `devN`: with the numbers of today."""
    rules, mounts = [], []
    for device in devices:
        major, minor = node.numbers[device.path]
        rules.append(f"lxc.cgroup2.devices.allow: c {major}:{minor} rwm")
        name = device.path.lstrip("/")
        mounts.append(f"lxc.mount.entry: {device.path} {name} none bind,create=file")
    return (*rules, *mounts)


def _parts(text: str) -> tuple[list[str], list[str]]:
    """Lines of the main section and all that follows, with their ends."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    first = (n for n, line in enumerate(lines) if _SECTION.fullmatch(line.rstrip("\n")))
    cut = next(first, len(lines))
    return lines[:cut], lines[cut:]


def _is_raw(line: str) -> bool:
    return bool(_LINE.fullmatch(line.rstrip("\n")))


def _mounted(line: str) -> str:
    """The path of NVIDIA's that a raw line mounts; empty: none."""
    raw = _LINE.fullmatch(line.strip())
    words = raw[2].split() if raw and raw[1].lower() == "lxc.mount.entry" else []
    return words[0].rstrip("/") if words and _NODE.fullmatch(words[0]) else ""


def _rule(line: str) -> Rule | None:
    """The rule of the device cgroup in a raw line, of character devices with a major."""
    raw = _LINE.fullmatch(line.strip())
    if not raw:
        return None
    rules = passed.parse(f"{raw[1].lower()}: {raw[2]}\n").raw_allow
    return next((rule for rule in rules if rule.kind == "c" and rule.major is not None), None)


def _effective(text: str, paths: Collection[str], node: Numbering) -> Iterator[str]:
    """Without any rule an unprivileged container may use every device."""
    seen = passed.parse(text)
    free = seen.unprivileged and not any(rule.unified for rule in seen.raw_allow)
    for path in paths:
        if path in node.numbers and (free or seen.allows(*node.numbers[path])):
            yield path


def _added(devices: Sequence[Device], keys: Mapping[str, str]) -> Iterator[str]:
    taken = dict(keys)
    for device in devices:
        if slots.find("dev", [taken], "path", device.path) is None:
            key = slots.free("dev", [taken])
            taken[key] = device.value
            yield f"{key}: {device.value}\n"


def _end(lines: Sequence[str]) -> int:
    """Where the main section's last line ends; empty lines before a section stay behind it."""
    last = (n for n in range(len(lines), 0, -1) if lines[n - 1].strip())
    return next(last, 0)
