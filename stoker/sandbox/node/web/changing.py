"""Stand-in: what the API changes: at once by a process of its own, or by a task."""

from __future__ import annotations

import json
import subprocess
from typing import Mapping

from .. import cluster, ha, running, store, volumes
from ..died import Died
from . import problem, rights, tasks
from .call import Call


def _task(call: Call, kind: str, command: str, values: Mapping[str, str], subject: str = "") -> str:
    work = {"command": command, "values": dict(values)}
    return tasks.begun(kind, subject or call.place["vmid"], call.user, work)


def _now(command: str, values: Mapping[str, str]) -> None:
    """Do it in a process and wait for it; its failure is the answer."""
    work = json.dumps({"command": command, "values": dict(values)}).encode()
    done = subprocess.run(tasks.WORKER, input=work, stdout=subprocess.PIPE)
    outcome = json.loads(done.stdout or b'{"status": 500, "message": "got no worker upid"}')
    if "errors" in outcome:
        raise problem.bad(outcome["errors"])
    if outcome:
        raise problem.Problem(outcome["status"], outcome["message"])


def create(call: Call) -> str:
    """POST /nodes/N/lxc."""
    vmid = int(call.values["vmid"])
    cluster.require_quorum()
    rights.for_create(call)
    taken = store.node_of(vmid)
    if taken:
        raise Died(f"CT {vmid} already exists on node '{taken}'")
    for storage in rights.storages(call):
        volumes.require_storage(storage)
    return _task(call, "vzcreate", "create", call.values, str(vmid))


def destroy(call: Call) -> str:
    """DELETE /nodes/N/lxc/ID."""
    call.require_vm("VM.Allocate")
    config = store.load(call.vmid)
    if config.now.keys.get("protection") == "1":
        raise Died(f"can't remove CT {call.vmid} - protection mode enabled")
    if not call.is_set("force"):
        store.check_lock(config)
        if running.is_running(call.vmid):
            raise Died(f"unable to destroy CT {call.vmid} - container is running")
    return _task(call, "vzdestroy", "destroy", {**call.values, "vmid": call.place["vmid"]})


def configure(call: Call) -> None:
    """PUT /nodes/N/lxc/ID/config: no task."""
    rights.for_change(call)
    _now("set", {**call.values, "vmid": call.place["vmid"]})


def resize(call: Call) -> str:
    """PUT /nodes/N/lxc/ID/resize."""
    call.require_vm("VM.Config.Disk")
    # The real one takes the parameters `disk` and `size` for keys of the configuration.
    call.require_vm("VM.Config.Options")
    keys = store.load(call.vmid).now.keys
    storage = keys.get(call.values["disk"], "").partition(":")[0]
    if storage:
        call.require(f"/storage/{storage}", "Datastore.AllocateSpace")
    volumes.resized(store.load(call.vmid), call.values["disk"], call.values["size"])
    return _task(call, "resize", "resize", {**call.values, "vmid": call.place["vmid"]})


def power(call: Call) -> str:
    """POST /nodes/N/lxc/ID/status/start, stop, shutdown, reboot: only some is refused at once."""
    call.require_vm("VM.PowerMgmt")
    verb, vmid = call.place["verb"], call.vmid
    up = running.is_running(vmid)
    if verb == "start" and up:
        raise Died(f"CT {vmid} already running")
    if verb != "start" and not up:
        # "VM" for a reboot is the real one's own slip.
        raise Died(f"{'VM' if verb == 'reboot' else 'CT'} {vmid} not running")
    kind = f"vz{verb}"
    if verb != "reboot" and ha.manages(vmid):
        kind = "hastart" if verb == "start" else "hastop"
    return _task(call, kind, verb, {**call.values, "vmid": call.place["vmid"]})


def snapshot(call: Call) -> str:
    """POST /nodes/N/lxc/ID/snapshot."""
    call.require_vm("VM.Snapshot")
    name = call.values["snapname"]
    if name in ("current", "vzdump"):
        raise Died(f"unable to use snapshot name '{name}' (reserved name)")
    return _task(call, "vzsnapshot", "snapshot", {**call.values, "vmid": call.place["vmid"]})


def delete_snapshot(call: Call) -> str:
    """DELETE /nodes/N/lxc/ID/snapshot/NAME."""
    call.require_vm("VM.Snapshot")
    values = {**call.values, "vmid": call.place["vmid"], "snapname": call.place["snapname"]}
    return _task(call, "vzdelsnapshot", "delsnapshot", values)


def roll_back(call: Call) -> str:
    """POST /nodes/N/lxc/ID/snapshot/NAME/rollback."""
    call.require_vm("VM.Snapshot", "VM.Snapshot.Rollback")
    values = {**call.values, "vmid": call.place["vmid"], "snapname": call.place["snapname"]}
    return _task(call, "vzrollback", "rollback", values)
