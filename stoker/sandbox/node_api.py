"""The API of a node that runs: served, and root may log in to it."""

from stoker.sandbox import contents, lxc_node, pve
from stoker.sandbox.state import Node, State

UNIT = "pveproxy.service"


def ready(state: State, node: Node) -> None:
    """The stand-in `pveproxy` runs this checkout's code; what a node with GPUs has lies there."""
    root = lxc_node.root(state, node)
    pve.write_members(state, node, root)
    contents.on_node(root, state.gpus)
    password = state.root_password.read_text().strip()
    lxc_node.attach(state, node, ["chpasswd"], f"root:{password}\n".encode())
    script = f"ldconfig; systemctl daemon-reload; systemctl restart {UNIT}"
    lxc_node.attach(state, node, ["sh", "-c", script])
