"""A node's settings for its GPUs: told in every run, changed only where that is asked."""

from collections.abc import Generator, Mapping
from pathlib import PurePosixPath

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.container import boot
from stoker.facts.files import FileState, FileStates
from stoker.facts.node_settings import NodeSettings, Persistence, SmiSettings
from stoker.health.node_settings import rows, sentences, unheld
from stoker.operations.atomic import written
from stoker.operations.once import warned
from stoker.operations.refusal import refused
from stoker.refused import Refused
from stoker.serving.rendering import File

Commands = Generator[PyinfraCommand, None, None]

_LOADED = File(
    PurePosixPath("/etc/modules-load.d/stoker-nvidia.conf"),
    "# By stoker: the GPUs' device nodes are there before any container starts.\n"
    "nvidia\nnvidia_uvm\n",
)
_BLOCKED = File(
    PurePosixPath("/etc/modprobe.d/stoker-nvidia.conf"),
    "# By stoker: nouveau would keep NVIDIA's module from the GPUs.\n"
    "blacklist nouveau\noptions nouveau modeset=0\n",
)
_INITRAMFS = "/var/lib/stoker/initramfs-pending"
_BOOT = "/var/lib/stoker/boot-pending"
"""These marks outlive a run that dies between writing and what makes it hold."""
_REFRESH = """
set -eu
if [ -s /etc/kernel/proxmox-boot-uuids ]; then proxmox-boot-tool refresh; fi
if [ -f /etc/default/grub ] && command -v update-grub >/dev/null; then update-grub; fi
"""


@operation()
def reported() -> Commands:
    """What is not good is said; nothing is changed, and nvidia-smi is not asked."""
    seen = host.get_fact(NodeSettings)
    if seen is None:
        warned(
            host, "cannot look at the node's settings: its python3 gave no answer; see stoker gpus"
        )
    else:
        for sentence in sentences(rows(seen)):
            warned(host, sentence)
    yield from ()


@operation()
def modules() -> Commands:
    """NVIDIA's modules are loaded at boot, nouveau is not, in the initramfs either."""
    files = (_LOADED, _BLOCKED)
    paths = (*(str(file.path) for file in files), _INITRAMFS)
    there = host.get_fact(FileStates, paths=paths)
    changed = [
        file
        for file in files
        if there.get(str(file.path)) != FileState(file.sha256, file.mode, "root:root")
    ]
    if not changed and _INITRAMFS not in there:
        host.noop("the modules are as said")
        return
    if _BLOCKED in changed:
        yield from _marked(_INITRAMFS)
    for file in changed:
        yield from written(file)
    if _BLOCKED in changed or _INITRAMFS in there:
        yield StringCommand("update-initramfs", "-u", "-k", "all")
        yield StringCommand("rm", "-f", "--", _INITRAMFS)


@operation()
def command_line(words: list[str]) -> Commands:
    """The kernel's command line has these words from the next boot on.

    The file as it was stays beside it, as `.stoker-old`.
    """
    seen = host.get_fact(NodeSettings)
    if seen is None:
        yield refused("cannot add to the kernel's command line: the node gave no answer; see above")
        return
    try:
        texts = _boot_files({boot.CMDLINE: seen.cmdline_file, boot.GRUB: seen.grub_file}, words)
    except Refused as error:
        yield refused(error)
        return
    left = host.get_fact(FileStates, paths=(_BOOT,))
    if texts or left:
        yield from _marked(_BOOT)
        for path, text in texts.items():
            kept = QuoteString(f"{path}.stoker-old")
            yield StringCommand("cp", "-fp", "--", path, kept)
            yield from written(File(PurePosixPath(path), text))
        yield StringCommand("sh", "-c", QuoteString(_REFRESH))
        yield StringCommand("rm", "-f", "--", _BOOT)
    if lacking := boot.waiting(seen.command_line, words):
        warned(
            host,
            f"the kernel runs without {' '.join(lacking)}, which its command line gets with the "
            "next boot; a reboot is pending",
        )


def _boot_files(texts: Mapping[str, str], words: list[str]) -> dict[str, str]:
    """Path -> new text, of the files that are there and lack a word."""
    if not any(texts.values()):
        raise Refused(
            f"cannot add to the kernel's command line: {host.name} has neither {boot.CMDLINE} nor "
            f"{boot.GRUB}; add {' '.join(words)} as its boot loader wants it"
        )
    change = {boot.CMDLINE: boot.cmdline, boot.GRUB: boot.grub}
    new = {path: change[path](text, words) for path, text in texts.items() if text}
    return {path: text for path, text in new.items() if text is not None}


def _marked(mark: str) -> Commands:
    yield StringCommand("install", "-d", "-m", "0755", "--", str(PurePosixPath(mark).parent))
    yield StringCommand("touch", "--", mark)


@operation()
def persistence() -> Commands:
    """The driver keeps the GPUs initialized: by NVIDIA's daemon, else until the next boot."""
    unit = host.get_fact(Persistence)
    if unit.there:
        if not unit.enabled:
            yield StringCommand("systemctl", "enable", "--quiet", unit.name)
        if not unit.active:
            yield StringCommand("systemctl", "start", unit.name)
        return
    smi = host.get_fact(SmiSettings)
    if any(one["persistence_mode"] == "Disabled" for one in smi):
        yield StringCommand("nvidia-smi", "-pm", "1")


@operation()
def power(limits: int | dict[str, int]) -> Commands:
    """The GPUs draw at most so many watts, until the next boot or reset: each run looks again.

    + limits: of every GPU, or UUID -> watts
    """
    smi = {one["uuid"]: one for one in host.get_fact(SmiSettings)}
    wanted = dict.fromkeys(smi, limits) if isinstance(limits, int) else limits
    problems = [p for uuid, watts in wanted.items() if (p := _impossible(smi, uuid, watts))]
    if not smi:
        yield refused(
            "cannot limit the power: nvidia-smi names no GPU and no limits; see stoker node"
        )
        return
    if problems:
        yield refused(f"cannot limit the power: {'; '.join(problems)}; correct power_limit_w")
        return
    for uuid, watts in wanted.items():
        if float(smi[uuid]["power.limit"]) != watts:
            yield StringCommand("nvidia-smi", "-i", uuid, "-pl", str(watts))


def _impossible(smi: Mapping[str, Mapping[str, str]], uuid: str, watts: int) -> str:
    if uuid not in smi:
        return f"the node has no GPU {uuid}, it has {', '.join(smi) or 'none'}"
    try:
        least, most = (float(smi[uuid][f"power.{end}_limit"]) for end in ("min", "max"))
        float(smi[uuid]["power.limit"])
    except ValueError:
        return f"{uuid} does not tell its limits"
    if not least <= watts <= most:
        return f"{uuid} takes {least:g} to {most:g} W, not {watts}"
    return ""


@operation()
def held() -> Commands:
    """No upgrade replaces the driver's packages of the node; nothing is installed."""
    seen = host.get_fact(NodeSettings)
    if seen is None:
        yield refused("cannot hold the driver's packages: the node gave no answer; see above")
    elif loose := unheld(seen.packages):
        yield StringCommand("apt-mark", "hold", *map(QuoteString, loose))
    else:
        host.noop("every package of the driver is held")
