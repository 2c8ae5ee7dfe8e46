"""The devices that pass GPUs, `devN`: which number each has, and which are no longer wanted."""

import re
from collections.abc import Collection, Mapping, Sequence

from stoker.container import property_string, slots
from stoker.container.devices import Device
from stoker.container.property_string import Edit

_NVIDIA = re.compile(r"/dev/nvidia([0-9]+|ctl|-uvm|-uvm-tools|-modeset|-caps/.+)")
_CARD = re.compile(r"/dev/nvidia[0-9]+")


def edits(
    devices: Sequence[Device], there: Sequence[Mapping[str, str]], exactly: bool
) -> dict[str, Edit]:
    """Key -> what its value becomes; a path keeps its number, a new one gets a free one.

    `exactly`: the mode is as said. Otherwise a device that everybody or the wanted group may open
    already is left as it is.
    """
    found: dict[str, Edit] = {}
    for device in devices:
        key = slots.find("dev", there, "path", device.path, found)
        found[key or slots.free("dev", [*there, found])] = _edit(device, exactly)
    return found


def _edit(device: Device, exactly: bool) -> Edit:
    said = {"mode": f"0{device.mode:03o}"}
    if device.gid is not None:
        said["gid"] = str(device.gid)

    def edit(text: str | None) -> str:
        before = property_string.parse("dev", text) if text else {}
        if text and before.get("path") == device.path and not exactly and _is_open(device, before):
            return text
        before.pop("deny-write", None)
        return property_string.render("dev", {**before, "path": device.path, **said})

    return edit


def _is_open(device: Device, fields: Mapping[str, str]) -> bool:
    mode = fields.get("mode", "0660")
    everybody = mode[-1] in "67"
    group = fields.get("gid", "0") == str(device.gid) and mode[-2] in "67"
    return (everybody or group) and not property_string.truth(fields.get("deny-write"))


def stale(
    devices: Sequence[Device], there: Sequence[Mapping[str, str]], kept: Collection[str]
) -> list[str]:
    """The keys, beside those kept, that pass GPUs which are not among these devices, or what a kept
    one passes already; and all of NVIDIA's nodes where no device is wanted. Nothing else's are
    among them (/dev/fuse, /dev/dri)."""
    ours = _CARD if devices else _NVIDIA
    wanted = {device.path for device in devices}
    found = dict.fromkeys(
        key
        for keys in there
        for key in slots.numbered("dev", keys)
        if ours.fullmatch(_path(keys[key])) or _path(keys[key]) in wanted
    )
    return [key for key in found if key not in kept]


def _path(text: str) -> str:
    return property_string.parse("dev", text).get("path", "")
