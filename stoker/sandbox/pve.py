"""A cluster's files, which its nodes share as /etc/pve: accounts, certificates and members."""

import json
import os
import secrets
from pathlib import Path

from stoker.sandbox import account, certificates, lxc_node
from stoker.sandbox.files import write_atomically
from stoker.sandbox.state import Node, State

STORAGES = """dir: local
\tpath /var/lib/vz
\tcontent vztmpl,rootdir,iso,backup

zfspool: local-zfs
\tpool rpool/data
\tcontent rootdir,images
"""
"""Those of `stoker.sandbox.node.volumes`."""


def placed(state: State, node: Node, owner: int) -> None:
    """Everything the API of a node needs that is the instance's own; before its first boot too."""
    here = lxc_node.cluster(state, node)
    (here / "nodes" / node.name / "lxc").mkdir(parents=True, exist_ok=True)
    write_atomically(here / "storage.cfg", STORAGES)
    account.placed(here, account.secret(state.api_secret, owner))
    account.secret(state.root_password, owner)
    authorities = state.directory / "authority"
    authorities.mkdir(mode=0o700, exist_ok=True)
    authority = certificates.authority(authorities, state.name).read_bytes()
    for path in (state.ca_file, here / "pve-root-ca.pem"):
        write_atomically(path, authority)
    if not (here / "priv/authkey.key").exists():
        write_atomically(here / "priv/authkey.key", secrets.token_hex(32), 0o600)
    own = here / "nodes" / node.name
    if not (own / "pve-ssl.key").exists():
        certificate, key = certificates.of_node(authorities, node.name, node.address)
        write_atomically(own / "pve-ssl.pem", certificate)
        write_atomically(own / "pve-ssl.key", key, 0o600)


def members(state: State, node: Node, quorate: bool = True) -> str:
    """The text of a node's /etc/pve/.members; one that is alone is in no cluster."""
    listed = {
        one.name: {"id": number + 1, "online": 1, "ip": one.address}
        for number, one in enumerate(state.nodes)
    }
    told: dict[str, object] = {"nodename": node.name, "version": 1}
    if len(state.nodes) > 1 or not quorate:
        count = len(state.nodes)
        told["cluster"] = {
            "name": state.name,
            "version": 2,
            "nodes": count,
            "quorate": int(quorate),
        }
    return json.dumps({**told, "nodelist": listed}, indent=1) + "\n"


def write_members(state: State, node: Node, root: Path) -> None:
    """Put it into a node's root file system where it has none."""
    path = root / "etc/pve/.members"
    if not os.path.lexists(path):
        write_atomically(path, members(state, node), 0o640)
