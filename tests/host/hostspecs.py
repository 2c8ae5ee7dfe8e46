"""The containers of a pyinfra inventory as testinfra's hosts.

`python -m tests.host.hostspecs INVENTORY` prints them as JSON. pyinfra patches the standard library
for itself, so the inventory is read in a process of its own.
"""

import atexit
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

SSH_OPTIONS = {
    "ssh_hostname": "HostName",
    "ssh_port": "Port",
    "ssh_user": "User",
    "ssh_key": "IdentityFile",
    "ssh_known_hosts_file": "UserKnownHostsFile",
}


def of(inventory: str) -> list[str]:
    """One `pct://VMID@NODE?ssh_config=...` for each container of the group `inference`.

    The ssh configuration is a temporary file that ends with this process.
    """
    words = [sys.executable, "-m", "tests.host.hostspecs", str(Path(inventory).resolve())]
    root = Path(__file__).parents[2]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"cannot read {inventory}: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout)
    with tempfile.NamedTemporaryFile("w", prefix="stoker-ssh-", delete=False) as file:
        file.write("\n".join(_stanza(name, data) for name, data in found["nodes"].items()))
    atexit.register(Path(file.name).unlink, missing_ok=True)
    query = urlencode({"ssh_config": file.name})
    return [f"pct://{vmid}@{node}?{query}" for node, vmid in found["containers"]]


def _stanza(name: str, data: dict[str, Any]) -> str:
    user = {"ssh_user": "root", **data}
    lines = [f"    {SSH_OPTIONS[key]} {user[key]}" for key in SSH_OPTIONS if user.get(key)]
    return "\n".join([f"Host {name}", *lines, ""])


def _read(inventory: str) -> dict[str, Any]:
    from gevent import monkey

    monkey.patch_all()
    from pyinfra.api import State
    from pyinfra.context import ctx_state
    from pyinfra_cli.inventory import make_inventory

    with ctx_state.use(State()):
        found = make_inventory(inventory, cwd=str(Path(inventory).parents[1]))
    nodes = {
        host.name: {key: host.data.get(key) for key in SSH_OPTIONS}
        for host in found
        if "pve" in host.groups
    }
    containers = [
        (host.data.pct_host, host.data.pct_vmid) for host in found if "inference" in host.groups
    ]
    return {"nodes": nodes, "containers": containers}


if __name__ == "__main__":
    json.dump(_read(sys.argv[1]), sys.stdout)
