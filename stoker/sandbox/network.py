"""The instance's own network: one bridge on this machine, one NAT table, documentation addresses.

The ranges are those RFC 5737 keeps for examples, so they meet no real network.
"""

import ipaddress
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from stoker.refused import Refused
from stoker.sandbox import commands
from stoker.sandbox.state import State

Network = ipaddress.IPv4Network
_RANGES = (Network("198.51.100.0/24"), Network("203.0.113.0/24"))
_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")


def free_subnet(taken: Iterable[str]) -> str:
    """The first /26 that overlaps none of `taken` (networks or addresses, in any notation)."""
    used = [Network(text, strict=False) for text in taken]
    for candidate in (subnet for whole in _RANGES for subnet in whole.subnets(new_prefix=26)):
        if not any(candidate.overlaps(network) for network in used):
            return str(candidate)
    raise Refused(
        "cannot choose a network: all eight /26 of 198.51.100.0/24 and 203.0.113.0/24 are in use "
        "here; take another sandbox down with `python -m stoker.sandbox down --name NAME`"
    )


def used_networks() -> Iterator[str]:
    """Every network an interface of this machine is in."""
    for interface in json.loads(commands.run(["ip", "-j", "-4", "address", "show"])):
        for address in interface["addr_info"]:
            yield f"{address['local']}/{address['prefixlen']}"


def gateway(subnet: str) -> str:
    """This machine's address on the bridge: the first of the subnet."""
    return str(Network(subnet)[1])


def node_address(subnet: str, index: int) -> str:
    """Address of the node with that index from 0; there is room for eight."""
    return str(Network(subnet)[2 + index])


def container_address(subnet: str, index: int) -> str:
    """Address of the container with that index from 0 in the whole instance; room for 52."""
    return str(Network(subnet)[10 + index])


def table(bridge: str) -> str:
    """The nft table's name: nft has no dashes in names."""
    return bridge.replace("-", "_")


def ruleset(bridge: str, subnet: str) -> str:
    """NAT for the subnet, and TCP segments cut to what the way out takes."""
    name = table(bridge)
    return f"""table ip {name}
delete table ip {name}
table ip {name} {{
  chain out {{
    type nat hook postrouting priority srcnat;
    ip saddr {subnet} oifname != "{bridge}" masquerade
  }}
  chain through {{
    type filter hook forward priority mangle;
    iifname "{bridge}" tcp flags syn tcp option maxseg size set rt mtu
    oifname "{bridge}" tcp flags syn tcp option maxseg size set rt mtu
  }}
}}
"""


def present(state: State) -> None:
    """The bridge is up with its address, packets are forwarded, and the NAT is in force.

    Forwarding stays on after `absent`: who else came to need it meanwhile cannot be known.
    """
    bridge = state.bridge
    if not Path("/sys/class/net", bridge).exists():
        commands.run(["ip", "link", "add", bridge, "type", "bridge", "forward_delay", "0"])
    prefix = Network(state.subnet).prefixlen
    address = f"{gateway(state.subnet)}/{prefix}"
    commands.run(["ip", "address", "replace", address, "dev", bridge])
    commands.run(["ip", "link", "set", bridge, "up"])
    if _FORWARD.read_text().strip() != "1":
        _FORWARD.write_text("1\n")
    commands.run(["nft", "-f", "-"], stdin=ruleset(bridge, state.subnet).encode())


def absent(state: State) -> None:
    """Neither the bridge nor the table is there."""
    commands.attempt(["nft", "delete", "table", "ip", table(state.bridge)])
    if Path("/sys/class/net", state.bridge).exists():
        commands.run(["ip", "link", "delete", state.bridge])
