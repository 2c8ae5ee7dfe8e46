"""The API's account that a deployment uses: a user, its role, its token; and root's password.

Their secrets lie in the instance's directory, readable by the user who called `up` alone.
"""

import os
import uuid
from pathlib import Path

from stoker.sandbox.files import write_atomically
from stoker.sandbox.node import access

USER = "stoker@pve"
TOKEN = f"{USER}!deploy"
ROLE = "StokerDeploy"
# As docs/proxmox.md has it, and no more: what is missing there shows here.
PRIVILEGES = frozenset(
    [
        *("VM.Allocate", "VM.Audit", "VM.PowerMgmt", "VM.Snapshot"),
        *(f"VM.Config.{part}" for part in ("CPU", "Memory", "Disk", "Network", "Options")),
        *("Datastore.AllocateSpace", "SDN.Use"),
    ]
)
PATHS = ("/vms", "/storage/local", "/storage/local-zfs", "/sdn/zones/localnetwork/vmbr0")


def secret(path: Path, owner: int) -> str:
    """The random words of that file, made if it is not there; `owner` may read it, 0: as it is."""
    if not path.exists():
        write_atomically(path, f"{uuid.uuid4()}\n", 0o600)
    if owner:
        os.chown(path, owner, -1)
    return path.read_text().strip()


def placed(pve: Path, token: str) -> None:
    """User, role, right and token are in a cluster's files, beside whatever else is there."""
    users, tokens = pve / "user.cfg", pve / "priv/token.cfg"
    rights = access.parse(users.read_text()) if users.exists() else access.Access()
    rights.users[USER] = True
    rights.roles[ROLE] = PRIVILEGES
    for path in PATHS:
        rights.acl[path, USER, ROLE] = True
    rights.tokens[TOKEN] = False
    write_atomically(users, access.render(rights), 0o640)
    lines = tokens.read_text().splitlines() if tokens.exists() else []
    kept = [line for line in lines if not line.startswith(f"{TOKEN} ")]
    write_atomically(tokens, "\n".join([*kept, f"{TOKEN} {token}"]) + "\n", 0o600)
