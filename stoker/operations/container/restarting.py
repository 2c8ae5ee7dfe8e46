"""Stopping a container with its servers ended first, and starting it until commands run in it."""

import time
from typing import Any

import gevent
from pyinfra import logger
from pyinfra.api import OperationError, QuoteString, StringCommand

from stoker.facts.on_node.look import RESTARTING
from stoker.facts.servers import AskedServers
from stoker.operations.following import say
from stoker.operations.putting_back import left_by_a_run
from stoker.operations.refusal import failed
from stoker.operations.starting import take_down
from stoker.pct.errors import PctError, Stopped
from stoker.proxmox.backend import Backend

LOOK_S = 0.5
ANSWER_S = 20
"""One that was frozen just now, by a backup for instance, answers nothing."""
STATE_S = 120
"""HA only notes the wish, and acts on it in rounds of 10 s."""
READY_S = 120
"""For the container's own systemd; a service that waits for a network gives up after 90 s."""
NOTES = RESTARTING
"""A file for each container that is stopped for a change; gone with the node's next boot."""
_NOTE = 'mkdir -p -- "${1%/*}" && : >"$1"'
_READY = ("running", "degraded", "maintenance")
_NO_SYSTEMD = "no systemctl"
_STATE = f"""
command -v systemctl >/dev/null || {{ echo {_NO_SYSTEMD}; exit 0; }}
exec systemctl is-system-running --wait
"""


def stop(host: Any, backend: Backend, timeout_s: int) -> None:
    """Its servers end, then its init; killed after `timeout_s`. Raises OperationError or OSError.

    A switch that a run left in its middle is undone first: what served before it serves after.
    """
    vmid = int(host.connector.vmid)
    left_by_a_run(host)
    servers = host.get_fact(AskedServers)
    if servers is None:
        raise OperationError(
            f"cannot restart CT {vmid}: it did not say which servers it has; see why above, "
            f"or restart it yourself: pct reboot {vmid}"
        )
    alive = tuple(name for name, server in servers.items() if server.alive)
    if alive:
        say(host, f"stopping {', '.join(alive)}: CT {vmid} is restarted")
        take_down(host, alive)
    say(host, f"shutting down CT {vmid}")
    _note(host, vmid)
    backend.shutdown(vmid, timeout_s, force=True)
    _await(host, vmid, running=False)


def start(host: Any, backend: Backend) -> None:
    """It runs and takes commands; raises OperationError or OSError."""
    vmid = int(host.connector.vmid)
    say(host, f"starting CT {vmid}")
    backend.start(vmid)
    _await(host, vmid, running=True)
    forget(host)
    _await_systemd(host, vmid)


def forget(host: Any) -> None:
    """It runs again after it was stopped for a change; raises OSError."""
    path = f"{NOTES}/{host.connector.vmid}"
    host.connector.node.run(["rm", "-f", "--", path], timeout=ANSWER_S)


def start_again(host: Any, backend: Backend) -> None:
    """The same where it does not run, after something failed that is told by whoever called; that
    it does not start is only told."""
    vmid = int(host.connector.vmid)
    try:
        runs = _runs(host, vmid)
        if runs is False:
            start(host, backend)
        elif runs:
            forget(host)
    except (OperationError, OSError) as error:
        failed(host, f"CT {vmid} was stopped and does not start again: {error}")


def _note(host: Any, vmid: int) -> None:
    """For the next run, should this one be killed before it has started it again; raises
    OperationError or OSError."""
    words = ["sh", "-c", _NOTE, "sh", f"{NOTES}/{vmid}"]
    if host.connector.node.run(words, timeout=ANSWER_S).code != 0:
        raise OperationError(
            f"cannot stop CT {vmid}: {NOTES} on its node cannot be written, and without that a run "
            "that ends in its middle leaves it stopped; see df /run there"
        )


def _await(host: Any, vmid: int, running: bool) -> None:
    ends = time.monotonic() + STATE_S
    while _runs(host, vmid) is not running:
        if time.monotonic() > ends:
            state = "started" if running else "stopped"
            raise OperationError(
                f"cannot go on with CT {vmid}: it is not {state} {STATE_S} s after Proxmox was "
                f"asked; see pct status {vmid} and, where HA manages it, ha-manager status"
            )
        gevent.sleep(LOOK_S)


def _runs(host: Any, vmid: int) -> bool | None:
    """None: it cannot be entered just now, which is neither."""
    try:
        host.connector.node.run("true", vmid=vmid, timeout=ANSWER_S)
    except Stopped:
        return False
    except PctError:
        return None
    return True


def _await_systemd(host: Any, vmid: int) -> None:
    """Until it has started what it starts at boot, or has had its time for that. Of another init
    nobody tells that."""
    ask = StringCommand("sh", "-c", QuoteString(_STATE))
    ends = time.monotonic() + READY_S
    said = "nothing"
    while (left := ends - time.monotonic()) > 0:
        try:
            _, output = host.run_shell_command(ask, _timeout=max(1, int(left)))
        except TimeoutError:
            break
        if output.stdout.strip() in (*_READY, _NO_SYSTEMD):
            return
        # Right after the start systemd is not to be talked to yet.
        said = output.stdout.strip() or output.stderr.strip() or said
        gevent.sleep(LOOK_S)
    host.log(
        f"CT {vmid}: its systemd still starts things after {READY_S} s ({said}); going on",
        log_func=logger.warning,
    )
