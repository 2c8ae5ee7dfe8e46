"""The words of a kernel's command line in the files that boot loaders are made from."""

import re
from collections.abc import Sequence

from stoker.refused import Refused

CMDLINE = "/etc/kernel/cmdline"
"""What proxmox-boot-tool reads for systemd-boot."""
GRUB = "/etc/default/grub"
_GRUB_LINE = re.compile(
    r"""^(?P<key>GRUB_CMDLINE_LINUX(?:_DEFAULT)?)=(?P<quote>["']?)(?P<words>.*?)(?P=quote)\s*?$""",
    re.MULTILINE,
)


def cmdline(text: str, words: Sequence[str]) -> str | None:
    """The file's new text; None: it has them all."""
    there = text.split()
    lacking = [word for word in words if word not in there]
    return " ".join([*there, *lacking]) + "\n" if lacking else None


def grub(text: str, words: Sequence[str]) -> str | None:
    """The same of GRUB's file, whose other lines stay. Raises `Refused` if it cannot be read."""
    found = list(_GRUB_LINE.finditer(text))
    there = [word for line in found for word in line["words"].split()]
    lacking = [word for word in words if word not in there]
    if not lacking:
        return None
    lines = [line for line in found if line["key"] == "GRUB_CMDLINE_LINUX_DEFAULT"]
    if not lines:
        raise Refused(
            f"cannot add to the kernel's command line: {GRUB} has no line "
            "GRUB_CMDLINE_LINUX_DEFAULT in quotes; add one"
        )
    last = lines[-1]
    if set(last["words"]) & set("\"'\\$`#"):
        raise Refused(
            f"cannot add to the kernel's command line: GRUB_CMDLINE_LINUX_DEFAULT in {GRUB} is "
            f"more than words in quotes; add {' '.join(lacking)} there yourself"
        )
    said = " ".join([*last["words"].split(), *lacking])
    return f'{text[: last.start()]}{last["key"]}="{said}"{text[last.end() :]}'.rstrip("\n") + "\n"


def waiting(running: str, words: Sequence[str]) -> list[str]:
    """Those of the words that the kernel that runs was not started with."""
    there = running.split()
    return [word for word in words if word not in there]
