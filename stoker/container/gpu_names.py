"""How an inventory names a GPU: by what stays the same over reboots."""

import re
from typing import Any

_UUID = re.compile(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PCI = re.compile(r"([0-9a-f]{4}|0000[0-9a-f]{4}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.IGNORECASE)
_MINOR = re.compile(r"(/dev/)?(nvidia|gpu)?\s*[0-9]+", re.IGNORECASE)
_WRITE = 'write its UUID, "GPU-...", of `nvidia-smi -L`, or its PCI address, "0000:01:00.0"'


def names(value: Any) -> tuple[str, ...]:
    """GPUs as `container.gpus` names them; `("all",)` for every one of the node.

    A UUID and a PCI address come back in the driver's and sysfs' own spelling. Raises ValueError.
    """
    if value == "all":
        return ("all",)
    if not isinstance(value, list | tuple):
        raise ValueError(f'is neither "all" nor a list; {_WRITE}')
    found = [name(one) for one in value]
    if twice := sorted({one for one in found if found.count(one) > 1}):
        raise ValueError(f"names {', '.join(twice)} twice")
    return tuple(found)


def name(value: Any) -> str:
    """One of them. Raises ValueError."""
    if isinstance(value, int) or (isinstance(value, str) and _MINOR.fullmatch(value)):
        raise ValueError(f"{value!r} is a minor number, which moves between boots; {_WRITE}")
    if isinstance(value, str) and _UUID.fullmatch(value):
        return f"GPU-{value[4:].lower()}"
    if isinstance(value, str) and (pci := _PCI.fullmatch(value)):
        return f"{pci[1][-4:]}:{pci[2]}".lower()
    if isinstance(value, str) and value.upper().startswith("MIG-"):
        raise ValueError(f"{_shown(value)} is a part of a GPU (MIG), which is not passed alone")
    raise ValueError(f"{_shown(value)} is no GPU's name; {_WRITE}")


def _shown(value: Any) -> str:
    return repr(value) if len(repr(value)) < 60 else f"{repr(value)[:57]}..."
