"""Why a run ends before, between or after the rungs. A function's docstring is its words in the
drawing; None means that it does not refuse."""

from __future__ import annotations

from stoker.health.refusal import (
    BAD,
    BUSY,
    DRIVER,
    FOREIGN,
    INCOMPLETE,
    POLICY,
    REBOOT,
    UNSERVED,
    Refusal,
    again,
    labels,
    named,
    reboot,
)
from stoker.health.situation import Situation, label


def no_such_target(s: Situation) -> Refusal | None:
    """there is nothing to recover by that name"""
    ct = s.container
    if not s.seen.containers:
        what = f"{s.seen.node} shows no container at all, CT {s.vmid} neither"
        return Refusal(what, "systemctl status pve-cluster; ls /etc/pve/lxc", INCOMPLETE)
    if ct is None:
        what = f"{s.seen.node} has no CT {s.vmid}"
        return Refusal(what, "pvesh get /cluster/resources --type vm", BAD)
    if ct.template:
        return Refusal(f"CT {s.vmid} is a template", "name a container that runs", BAD)
    if s.not_passed:
        what = f"CT {s.vmid} is not passed {', '.join(s.not_passed)}"
        return Refusal(what, "nvidia-smi -L; stoker.pyz look", BAD)
    absent = ", ".join(unit.name for unit in s.targets if unit.standing == "missing")
    look = f"pct exec {s.vmid} -- systemctl list-units --all --type service"
    return Refusal(f"CT {s.vmid} has no unit {absent}", look, BAD) if absent else None


def driver_first(s: Situation) -> Refusal | None:
    """ending processes cannot repair a driver"""
    driver = s.seen.driver
    smi = f"nvidia-smi: {driver.smi.text or driver.smi.state}"
    if not driver.version:
        return Refusal(
            "no nvidia driver is loaded", "modprobe nvidia && nvidia-modprobe -u -c 0", DRIVER
        )
    if driver.installed and driver.installed != driver.version:
        what = f"driver {driver.version} is loaded and {driver.installed} installed ({smi})"
        return Refusal(what, "stop every GPU container, then reload the driver or reboot", DRIVER)
    humans = {
        "mismatch": "install the user-space libraries of the loaded version: cat "
        "/sys/module/nvidia/version",
        "no-devices": "journalctl -k -b | grep -E 'NVRM|Xid'",
        "no-library": "install the driver's user-space libraries on the node",
        "missing": "install nvidia-smi of the loaded version on the node",
    }
    human = humans.get(driver.smi.state, "nvidia-smi -q -x | head")
    return Refusal(f"the driver is {driver.smi.state} ({smi})", human, DRIVER)


def locked(s: Situation) -> Refusal | None:
    """Proxmox has the container locked (backup, migration, snapshot)"""
    ct = s.container
    if ct is None or not ct.lock:
        return None
    what = f"CT {s.vmid} is locked: {ct.lock}"
    return Refusal(what, f"wait for it to end; if it is a leftover: pct unlock {s.vmid}", BUSY)


def frozen(s: Situation) -> Refusal | None:
    """the container is frozen: a backup in suspend mode, or a snapshot"""
    if s.container is None or s.container.state != "frozen":
        return None
    what = f"CT {s.vmid} is frozen, so that nothing in it can be asked or ended in order"
    return Refusal(what, f"wait for the backup; lxc-info -n {s.vmid} tells its state", BUSY)


def ha_managed(s: Situation) -> Refusal | None:
    """HA manages the container and would restart things behind us"""
    if s.container is None or not s.container.ha or s.permitted.ha:
        return None
    return Refusal(f"HA manages CT {s.vmid}", again(s, "--ha"), POLICY)


def of_a_vm(s: Situation) -> Refusal | None:
    """a GPU of the container is bound to vfio-pci"""
    theirs = tuple(gpu for gpu in s.gpus if gpu.binding == "vfio-pci")
    if not theirs:
        return None
    what = f"{labels(theirs)} is bound to vfio-pci and belongs to a VM"
    return Refusal(what, "grep -l hostpci /etc/pve/qemu-server/*.conf", FOREIGN)


def not_ours(s: Situation) -> Refusal | None:
    """a process of another container, a VM or the node is never ended"""
    where = labels(tuple(g for g in s.dirty if any(g.uuid in h.gpus for h in s.occupiers)))
    host = [h.owner.unit for h in s.occupiers if h.owner.kind == "host" and h.owner.unit]
    human = f"systemctl stop {' '.join(sorted(set(host)))}" if host else "ask its owner to stop it"
    return Refusal(f"{where} is held by {named(s.occupiers)}", human, FOREIGN)


def reboot_only(s: Situation) -> Refusal | None:
    """a lost GPU hangs on a reset"""
    return Refusal(s.why_lost(), reboot(s), REBOOT)


def gone_since(s: Situation) -> Refusal | None:
    """a GPU that does not come back from a reset needs a reboot"""
    if not s.missing:
        return None
    return Refusal(f"{', '.join(s.missing)} did not come back", reboot(s), REBOOT)


def passed_by_number(s: Situation) -> Refusal | None:
    """containers are passed nodes by number, so they would get each other's GPUs"""
    if not s.renumbered:
        return None
    what = ", ".join(f"{label(gpu)} is nvidia{gpu.minor} now" for gpu in s.renumbered)
    return Refusal(what, "set devN of every GPU container anew, and restart them", POLICY)


def no_driver_calls(s: Situation) -> Refusal | None:
    """more calls would pile up in the driver"""
    smi = s.seen.driver.smi
    what = f"nvidia-smi does not come back from the driver ({smi.text or smi.state})"
    serving = ", ".join(unit.name for unit in s.targets if unit.standing == "healthy")
    what += f"; {serving} serves meanwhile" if serving else ""
    return Refusal(what, reboot(s), REBOOT)


def cannot_verify(s: Situation) -> Refusal | None:
    """without a figure nobody can tell whether memory is back"""
    smi = s.seen.driver.smi
    gpus = "; ".join(
        f"{label(g)}: memory unknown{f', {g.error}' * bool(g.error)}" for g in s.unknown
    )
    return Refusal(f"{gpus} (nvidia-smi: {smi.text or smi.state})", "nvidia-smi -q -x", INCOMPLETE)


def occupied(s: Situation) -> Refusal | None:
    """its GPU is used by another service of the container"""
    wanted = frozenset().union(*(s.gpus_of(unit) for unit in s.to_start))
    over = frozenset(gpu.uuid for gpu in s.gpus if gpu.over_baseline)
    others = tuple(
        h
        for h in s.ours
        if wanted & over & s.on(h) and (unit := s.unit_of(h)) is not None and not unit.target
    )
    if not others:
        return None
    human = f"pct exec {s.vmid} -- systemctl stop {others[0].owner.unit}"
    return Refusal(f"the GPU is in use by {named(others)}", human, POLICY)


def served_once(s: Situation) -> Refusal | None:
    """it was started in this run already"""
    if not s.done.times("Z"):
        return None
    units = ", ".join(unit.name for unit in s.to_start)
    human = f"pct exec {s.vmid} -- journalctl -u {s.to_start[0].name} -n 50"
    why = "; ".join(text for rung, text in s.done.failed if rung == "Z")
    return Refusal(why or f"memory is back, and {units} does not serve", human, UNSERVED)


def still_running(s: Situation) -> Refusal | None:
    """a unit that runs is only stopped with --stop-running"""
    units = [u for u in s.left_alone if u in s.targets and u.standing in ("silent", "unknown")]
    if not units:
        return None
    told = ", ".join(
        f"{u.name} is active and does not answer ({u.said or 'no word'})" for u in units
    )
    return Refusal(told, again(s, "--stop-running"), POLICY)


def nothing_left(s: Situation) -> Refusal | None:
    """a reboot takes every guest of the node down; it is never done for you"""
    if s.stuck:
        what = f"held by {named(s.stuck)}"
    elif s.dirty:
        what = "; ".join(f"{label(g)} still has {g.used_mib} MiB in use" for g in s.dirty)
    else:
        what = f"{labels(s.to_reset)} asks for a reset" if s.to_reset else "nothing else is known"
    tried = "; ".join(text for _, text in s.done.failed)
    return Refusal(what + (f" ({tried})" if tried else ""), reboot(s), REBOOT)
