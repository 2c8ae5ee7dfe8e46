"""The instance's own network: one bridge on this machine, one NAT table, documentation addresses.

The ranges are TEST-NET-2, which RFC 5737 keeps for examples, and when that is used up a piece of
what RFC 2544 keeps for benchmarks. Even such addresses can be in use: a machine whose way out is a
gateway that answers for every name may see that gateway in TEST-NET-1 or TEST-NET-3 (one did, and
a subnet laid over it cut the whole machine off its archives). So the addresses of the archives and
of the name servers are never covered.
"""

import ipaddress
import json
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from stoker.refused import Refused
from stoker.sandbox import commands
from stoker.sandbox.state import State

Network = ipaddress.IPv4Network
_RANGES = (Network("198.51.100.0/24"), Network("198.18.100.0/24"))
_PREFIX = 27
# Of the 30 addresses of a /27: one for this machine, the next ones for nodes, the rest containers.
MOST_NODES = 4
MOST_CONTAINERS = 25
_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")


def free_subnet(taken: Iterable[str]) -> str:
    """The first /27 that overlaps none of `taken` (networks or addresses, in any notation)."""
    used = [Network(text, strict=False) for text in taken]
    for candidate in (part for whole in _RANGES for part in whole.subnets(new_prefix=_PREFIX)):
        if not any(candidate.overlaps(network) for network in used):
            return str(candidate)
    raise Refused(
        f"cannot choose a network: every /27 of {' and '.join(map(str, _RANGES))} is in use here; "
        "take another sandbox down with `python -m stoker.sandbox down --name NAME`"
    )


def used_networks() -> Iterator[str]:
    """Every network an interface of this machine is in, and every one it has a route to."""
    for interface in json.loads(commands.run(["ip", "-j", "-4", "address", "show"])):
        for address in interface["addr_info"]:
            yield f"{address['local']}/{address['prefixlen']}"
    for route in json.loads(commands.run(["ip", "-j", "-4", "route", "show"])):
        if route["dst"] != "default":
            yield route["dst"]


def addresses_of(uris: Iterable[str]) -> Iterator[str]:
    """The IPv4 addresses behind those URIs now; a name that does not resolve has none."""
    for host in {urlsplit(uri).hostname for uri in uris} - {None}:
        try:
            found = socket.getaddrinfo(host, None, socket.AF_INET)
        except socket.gaierror:
            continue  # offline: then there is nothing to be cut off from
        yield from (str(entry[4][0]) for entry in found)


def gateway(subnet: str) -> str:
    """This machine's address on the bridge: the first of the subnet."""
    return str(Network(subnet)[1])


def node_address(subnet: str, index: int) -> str:
    """Address of the node with that index from 0, below MOST_NODES."""
    return str(Network(subnet)[2 + index])


def container_address(subnet: str, index: int) -> str:
    """Address of the container with that index from 0 in the instance, below MOST_CONTAINERS."""
    return str(Network(subnet)[2 + MOST_NODES + index])


def with_prefix(address: str, subnet: str) -> str:
    """The address as an interface is given it."""
    return f"{address}/{Network(subnet).prefixlen}"


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
    address = with_prefix(gateway(state.subnet), state.subnet)
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
