"""Stand-in: starting and stopping a container by its unit and by lxc-stop, as Proxmox does."""

from __future__ import annotations

import os
import subprocess
import time

from . import hookscript, lxc_config, pending, running, store
from .died import Died

START_TIMEOUT_S = 60.0


def start(vmid: int, skip_lock: bool = False) -> None:
    """Start it and return when LXC says RUNNING, which is before systemd inside is ready.

    The caller holds the lock. Pending changes are applied first.
    """
    config = store.load(vmid)
    store.check_lock(config, skip_lock)
    if pending.apply_all(config):
        store.save(vmid, config)
    lxc_config.write(vmid, config)
    hookscript.run(vmid, config.now.keys, "pre-start")
    os.makedirs(os.path.dirname(_log(vmid)), exist_ok=True)
    unit = f"pve-container@{vmid}.service"
    subprocess.run(["systemctl", "reset-failed", unit], stderr=subprocess.DEVNULL)
    subprocess.run(["systemctl", "start", unit], check=True)
    if not _came_up(vmid, unit):
        _show_log(vmid)
        raise Died(f"startup for container '{vmid}' failed")
    hookscript.run(vmid, config.now.keys, "post-start")


def _log(vmid: int) -> str:
    return f"/run/pve/ct-{vmid}.stderr"


def _came_up(vmid: int, unit: str) -> bool:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        words = ["lxc-info", "-n", str(vmid), "-s", "-H"]
        state = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if state.stdout.strip() == "RUNNING":
            return True
        if subprocess.run(["systemctl", "is-active", "--quiet", unit]).returncode:
            return False
        time.sleep(0.05)
    return False


def _show_log(vmid: int) -> None:
    with open(_log(vmid), errors="replace") as log:
        for line in log:
            # `lxc-start: 106: ../src/lxc/conf.c: run_buffer: 321 Script ...`, from the function on.
            print(line.rstrip("\n").split(".c: ", 1)[-1])


def kill(vmid: int) -> None:
    """End it at once."""
    keys = store.load(vmid).now.keys
    subprocess.run(["lxc-stop", "-n", str(vmid), "--kill"], check=False)
    if not running.wait_stopped(vmid, 60):
        raise Died("container did not stop")
    _settle(vmid)
    hookscript.run(vmid, keys, "post-stop")


def shut_down(vmid: int, timeout_s: int, force: bool) -> None:
    """Ask its init to end; after the time-out kill it (`force`), or die with it still running."""
    keys = store.load(vmid).now.keys
    hookscript.run(vmid, keys, "pre-stop")
    words = ["lxc-stop", "-n", str(vmid)]
    words += [] if force else ["--nokill"]
    words += ["--timeout", str(timeout_s)]
    code = subprocess.run(words).returncode
    if code:
        print(f"command '{' '.join(words)}' failed: exit code {code}", flush=True)
    if not running.wait_stopped(vmid, timeout_s + 5):
        raise Died("container did not stop")
    _settle(vmid)
    hookscript.run(vmid, keys, "post-stop")


def _settle(vmid: int) -> None:
    """Wait for the unit to be over, so that a start right after it is not refused."""
    unit = f"pve-container@{vmid}.service"
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if subprocess.run(["systemctl", "is-active", "--quiet", unit]).returncode:
            return
        time.sleep(0.05)
