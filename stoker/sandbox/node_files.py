"""The files that make a copy of the node image one certain node. Paths are relative to its root."""

from pathlib import Path

from stoker.refused import Refused
from stoker.sandbox import network
from stoker.sandbox.state import Node

# What a node's `pct` needs to shift an unprivileged guest, as Proxmox's installer writes it.
_SUBORDINATE = "root:100000:65536\n"

_SSHD = """\
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UseDNS no
"""


def interfaces(address: str, gateway: str) -> str:
    """/etc/network/interfaces as Proxmox has it: the wire is a port of the bridge vmbr0."""
    return f"""\
auto lo
iface lo inet loopback

iface eth0 inet manual

auto vmbr0
iface vmbr0 inet static
    address {address}
    gateway {gateway}
    bridge-ports eth0
    bridge-stp off
    bridge-fd 0
"""


_RESOLVERS = (Path("/run/systemd/resolve/resolv.conf"), Path("/etc/resolv.conf"))


def name_servers(candidates: tuple[Path, ...] = _RESOLVERS) -> list[str]:
    """Those of the first resolv.conf that names one which is not this machine's loopback."""
    for path in (path for path in candidates if path.exists()):
        servers = [
            line.split()[1] for line in path.read_text().splitlines() if line[:10] == "nameserver"
        ]
        usable = [server for server in servers if not server.startswith(("127.", "::1"))]
        if usable:
            return usable
    raise Refused(
        f"cannot give the sandbox a name server: {' and '.join(map(str, candidates))} name only "
        "this machine itself; put a server that the network reaches into /etc/resolv.conf"
    )


def files(node: Node, subnet: str, authorized_key: str) -> dict[str, str]:
    """Everything but the host key and the stand-ins, which are copied."""
    servers = name_servers()
    return {
        "etc/hostname": f"{node.name}\n",
        "etc/hosts": f"127.0.0.1 localhost\n{node.address} {node.name}.sandbox {node.name}\n",
        "etc/network/interfaces": interfaces(
            network.with_prefix(node.address, subnet), network.gateway(subnet)
        ),
        "etc/resolv.conf": "".join(f"nameserver {server}\n" for server in servers),
        "etc/ssh/sshd_config.d/stoker.conf": _SSHD,
        "etc/subuid": _SUBORDINATE,
        "etc/subgid": _SUBORDINATE,
        "root/.ssh/authorized_keys": authorized_key,
    }
