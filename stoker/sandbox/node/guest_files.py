"""Stand-in: what Proxmox writes into a Debian-like guest at create and at every start.

Runs chrooted as the guest's root, so a link of the guest leads nowhere else and every file has
the guest's owner.
"""

from __future__ import annotations

import os
import re
from typing import Dict, List, Mapping, Tuple

from . import networks

BEGIN, END = "# --- BEGIN PVE ---\n", "# --- END PVE ---\n"
Network = List[Tuple[int, Dict[str, str]]]


def write_all(vmid: int, keys: Mapping[str, str], node_resolv: str) -> int:
    """Host name, hosts, resolv.conf and network of the root this process has; 0 as exit code."""
    name = keys.get("hostname", f"CT{vmid}")
    nets = networks.all_of(keys)
    _write("/etc/hostname", f"{name}\n")
    _write("/etc/hosts", with_section(_read("/etc/hosts"), hosts_section(name, nets)))
    _write("/etc/resolv.conf", BEGIN + resolv_conf(keys, node_resolv) + END)
    if os.path.exists("/usr/sbin/ifup") or os.path.exists("/sbin/ifup"):
        _write("/etc/network/interfaces", interfaces(nets))
    elif os.path.exists("/lib/systemd/systemd-networkd"):
        for _number, fields in nets:
            _write(f"/etc/systemd/network/{fields['name']}.network", networkd_unit(fields))
        _enable_networkd()
    return 0


def hosts_section(name: str, nets: Network) -> str:
    """The guest's own line of /etc/hosts: its first static address, else 127.0.1.1."""
    fixed = [fields["ip"].split("/")[0] for _n, fields in nets if "/" in fields.get("ip", "")]
    short = name.split(".")[0]
    words = [fixed[0] if fixed else "127.0.1.1", name] + ([short] if short != name else [])
    return " ".join(words) + "\n"


def with_section(before: str, section: str) -> str:
    """A file's text with Proxmox's own section replaced, or added at its end."""
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    block = BEGIN + section + END
    if pattern.search(before):
        return pattern.sub(lambda _match: block, before)
    return before + ("" if not before or before.endswith("\n") else "\n") + block


def resolv_conf(keys: Mapping[str, str], node_resolv: str) -> str:
    """The lines of resolv.conf: the container's own settings, else those of the node."""
    search = keys.get("searchdomain")
    servers = (keys.get("nameserver") or "").replace(",", " ").split()
    lines = [f"search {search}"] if search else []
    lines += [f"nameserver {server}" for server in servers]
    kept = [] if search and servers else node_resolv.splitlines()
    for line in kept:
        word = line.split()[0] if line.split() else ""
        if (word in ("search", "domain") and not search) or (word == "nameserver" and not servers):
            lines.append(line)
    return "".join(line + "\n" for line in lines)


def interfaces(nets: Network) -> str:
    """The text of /etc/network/interfaces."""
    text = "auto lo\niface lo inet loopback\n"
    for _number, fields in nets:
        name, address = fields["name"], fields.get("ip", "manual")
        method = "static" if "/" in address else address
        text += f"\nauto {name}\niface {name} inet {method}\n"
        if method == "static":
            text += f"\taddress {address}\n"
            text += f"\tgateway {fields['gw']}\n" if "gw" in fields else ""
    return text


def networkd_unit(fields: Mapping[str, str]) -> str:
    """The text of one interface's file for systemd-networkd."""
    address = fields.get("ip", "manual")
    lines = ["[Match]", f"Name = {fields['name']}", "", "[Network]"]
    lines.append(f"Description = Interface {fields['name']} autoconfigured by PVE")
    if "/" in address:
        lines.append(f"Address = {address}")
        if "gw" in fields:
            lines.append(f"Gateway = {fields['gw']}")
    lines.append("DHCP = " + ("ipv4" if address == "dhcp" else "no"))
    lines.append("IPv6AcceptRA = false")
    return "".join(line + "\n" for line in lines)


def _enable_networkd() -> None:
    link = "/etc/systemd/system/multi-user.target.wants/systemd-networkd.service"
    if not os.path.lexists(link):
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink("/lib/systemd/system/systemd-networkd.service", link)


def _read(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    if os.path.islink(path):
        os.unlink(path)
    elif _read(path) == text and os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
