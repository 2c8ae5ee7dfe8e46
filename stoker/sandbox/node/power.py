"""Stand-in: `pct start`, `stop`, `shutdown` and `reboot`."""

from __future__ import annotations

from . import ha, lifecycle, running, store
from .command import Request
from .died import Died


def start(request: Request) -> int:
    """Start it; a container under high availability is only asked for."""
    vmid = request.vmid
    try:
        config = store.load(vmid)
    except Died as died:
        raise Died(died.text) from None
    if running.is_running(vmid):
        raise Died(f"CT {vmid} already running")
    if ha.manages(vmid):
        return ha.request(vmid, "start", "started")
    store.check_lock(config, request.is_set("skiplock"))
    with store.locked(vmid):
        lifecycle.start(vmid, request.is_set("skiplock"))
    return 0


def stop(request: Request) -> int:
    """Kill it."""
    vmid = request.vmid
    _require_running("CT", vmid)
    if ha.manages(vmid):
        return ha.request(vmid, "stop", "stopped")
    store.check_lock(store.load(vmid), request.is_set("skiplock"))
    with store.locked(vmid):
        lifecycle.kill(vmid)
    return 0


def shutdown(request: Request) -> int:
    """Ask it to end within the time-out, 60 s by default."""
    vmid = request.vmid
    _require_running("CT", vmid)
    if ha.manages(vmid):
        return ha.request(vmid, "stop", "stopped")
    store.check_lock(store.load(vmid))
    with store.locked(vmid):
        lifecycle.shut_down(vmid, _timeout(request), request.is_set("forcestop"))
    return 0


def reboot(request: Request) -> int:
    """Shut it down, killing it at the time-out, and start it with what was pending."""
    vmid = request.vmid
    _require_running("VM", vmid)
    store.check_lock(store.load(vmid))
    with store.locked(vmid):
        lifecycle.shut_down(vmid, _timeout(request), force=True)
        lifecycle.start(vmid)
    return 0


def _timeout(request: Request) -> int:
    return int(request.values.get("timeout", "60"))


def _require_running(word: str, vmid: int) -> None:
    # "VM" for a reboot is the real one's own slip.
    if not running.is_running(vmid):
        raise Died(f"{word} {vmid} not running")
