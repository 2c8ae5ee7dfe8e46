"""Stand-in: `pct set`: what is checked, what takes effect at once, and what becomes pending."""

from __future__ import annotations

import re
import sys
from typing import List

from . import (
    conf,
    devices,
    hookscript,
    hotplug,
    mapped,
    mounts,
    networks,
    running,
    schema,
    store,
    version,
    volumes,
)
from .command import TEXT, Request
from .died import BadParameters, Died
from .schema import Effect

OPTIONS = {"delete": TEXT, "revert": TEXT, "digest": TEXT}


def set_options(request: Request) -> int:
    """Change, delete and revert keys of a container."""
    vmid = request.vmid
    wanted = {name: text for name, text in request.values.items() if schema.find(name)}
    deletes, reverts = _listed(request, "delete"), _listed(request, "revert")
    if not wanted and not deletes and not reverts:
        raise Died("no options specified")
    _require_known(delete=deletes, revert=reverts)
    with store.locked(vmid):
        config = store.load(vmid)
        store.check_lock(config)
        _require_unchanged(request, config)
        _require_unprotected(config, vmid, remove=deletes, update=list(wanted))
        for name in deletes:
            _delete(config, name)
        stored = {name: _checked(config, vmid, name, wanted[name]) for name in sorted(wanted)}
        for name in [*reverts, *stored]:
            config.pending.keys.pop(name, None)
            _keep(config, name)
        config.pending.keys.update(stored)
        _take_effect(config, vmid)
        store.save(vmid, config)
        # The real one writes lxc's own file then, after it saved: a node that is gone is told of
        # a change that holds.
        devices.all_of(config.now.keys)
    return 0


def _require_unchanged(request: Request, config: conf.Config) -> None:
    if request.values.get("digest", config.digest) != config.digest:
        changed_by_other = "detected modified configuration - file changed by other user?"
        raise Died(f"{changed_by_other} Try again.")


def _require_unprotected(config: conf.Config, vmid: int, **names: List[str]) -> None:
    """What is to become of the protection by the same call does not count."""
    if config.now.keys.get("protection") != "1":
        return
    for verb, disks in names.items():
        for name in sorted(disks):
            if re.fullmatch(r"rootfs|mp\d+", name):
                raise Died(f"can't {verb} CT {vmid} drive '{name}' - protection mode enabled")


def _listed(request: Request, option: str) -> List[str]:
    return [name for name in re.split(r"[,;\0 ]+", request.values.get(option, "")) if name]


def _require_known(**lists: List[str]) -> None:
    for option, names in lists.items():
        for name in names:
            if not schema.find(name):
                raise BadParameters({option: f"unknown option '{name}'"})


def _keep(config: conf.Config, name: str) -> None:
    """Take a key off the list of those to be dropped."""
    config.set_pending_deletes([listed for listed in config.pending_deletes if listed != name])


def _delete(config: conf.Config, name: str) -> None:
    if name in ("memory", "rootfs"):
        raise Died(f"unable to delete required option '{name}'")
    _refuse_read_only(name)
    if name not in config.now.keys and name not in config.pending.keys:
        print(f"cannot delete '{name}' - not set in current configuration!", file=sys.stderr)
    elif name in config.now.keys:
        config.set_pending_deletes([*config.pending_deletes, name])
    else:
        del config.pending.keys[name]


def _refuse_read_only(name: str) -> None:
    key = schema.find(name)
    if key and key.effect is Effect.READ_ONLY:
        raise Died(f"unable to modify read-only option: '{name}'")


def _checked(config: conf.Config, vmid: int, name: str, text: str) -> str:
    """The value as it will be stored; dies where it cannot be."""
    _refuse_read_only(name)
    if re.fullmatch(r"dev\d+", name):
        devices.resolve(name, text, mapped.shift_of(config.now.keys))
    elif re.fullmatch(r"net\d+", name):
        return networks.completed(text, vmid, name)
    elif re.fullmatch(r"mp\d+", name):
        return volumes.new_mount_point(vmid, text, mapped.shift_of(config.now.keys))
    elif name == "hookscript":
        hookscript.check(text)
    elif name == "tags":
        return schema.tags(text)
    return text


def _take_effect(config: conf.Config, vmid: int) -> None:
    """Move what needs no restart from pending to now; the rest stays pending.

    Dies where one cannot be: then nothing is saved, not even of those that can.
    """
    up = running.is_running(vmid)
    for name in config.pending_deletes:
        key = schema.find(name)
        if not up or (key and key.effect in (Effect.AT_ONCE, Effect.HOTPLUG)):
            config.now.keys.pop(name, None)
            _keep(config, name)
    problems = {}
    for name in [name for name in config.pending.keys if name != "delete"]:
        text = config.pending.keys[name]
        if config.now.keys.get(name) == text:
            del config.pending.keys[name]
            continue
        try:
            if up and not _plugged(config, vmid, name, text):
                continue
        except Died as died:
            problems[name] = f"hotplug problem - {died.text}"
            continue
        config.now.keys[name] = config.pending.keys.pop(name)
    if problems:
        raise BadParameters(problems)


def _plugged(config: conf.Config, vmid: int, name: str, text: str) -> bool:
    """Whether a changed key holds in the running container from now on."""
    key = schema.find(name)
    effect = key.effect if key else Effect.PENDING
    if effect is not Effect.NEW_ONLY:
        return effect in (Effect.AT_ONCE, Effect.HOTPLUG)
    if name in config.now.keys or (name.startswith("dev") and not version.plugs_devices()):
        return False
    shift = mapped.shift_of(config.now.keys)
    if name.startswith("dev"):
        hotplug.plug_device(vmid, devices.resolve(name, text, shift), shift)
    else:
        hotplug.plug_mount(vmid, mounts.resolve(name, text, vmid), shift)
    return True


def resize(request: Request) -> int:
    """Grow a volume; here only its size in the configuration grows."""
    vmid = request.vmid
    with store.locked(vmid):
        config = store.load(vmid)
        store.check_lock(config)
        _require_unchanged(request, config)
        disk = request.values["disk"]
        config.now.keys[disk] = volumes.resized(config, disk, request.values["size"])
        store.save(vmid, config)
    return 0


def unlock(request: Request) -> int:
    """Remove the `lock:` of a container."""
    with store.locked(request.vmid):
        config = store.load(request.vmid)
        config.now.keys.pop("lock", None)
        store.save(request.vmid, config)
    return 0
