"""How an inventory names a GPU: by what stays the same over reboots."""

import re
from typing import Any

from stoker.health import bdf

_UUID = re.compile(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MINOR = re.compile(r"(/dev/)?(nvidia|gpu)?\s*[0-9]+", re.IGNORECASE)
_WRITE = 'write its UUID, "GPU-...", of `nvidia-smi -L`, or its PCI address, "0000:01:00.0"'


def names(value: Any) -> Any:
    """`all`, or GPUs as `container.gpus` names them, each in the driver's or sysfs' own spelling.

    Raises ValueError with every problem.
    """
    if value is None or value == "all":
        return value
    if not isinstance(value, list | tuple):
        raise ValueError(f'{_otherwise(value)}; it is neither "all" nor a list; {_WRITE}')
    found, wrong = [], []
    for one in value:
        try:
            found.append(_name(one))
        except ValueError as error:
            wrong.append(f"{_shown(one)} {error}")
    wrong += [f"{one} is named twice" for one in sorted(set(found)) if found.count(one) > 1]
    if wrong:
        raise ValueError("; ".join([*wrong, _WRITE]))
    return tuple(found)


def _otherwise(value: Any) -> str:
    """What is wrong with it even as one of a list."""
    try:
        _name(value)
    except ValueError as error:
        return str(error)
    return "stands alone"


def _name(value: Any) -> str:
    if isinstance(value, int) or (isinstance(value, str) and _MINOR.fullmatch(value)):
        raise ValueError("is a minor number, which moves between boots")
    if isinstance(value, str) and _UUID.fullmatch(value):
        return f"GPU-{value[4:].lower()}"
    if isinstance(value, str) and value.upper().startswith("MIG-"):
        raise ValueError("is a part of a GPU (MIG), which is not passed alone")
    try:
        return bdf.normal(value if isinstance(value, str) else "")
    except ValueError:
        raise ValueError("is no GPU's name") from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."
