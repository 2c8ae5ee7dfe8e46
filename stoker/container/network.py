"""A container's network interfaces, `netN`, matched by the name they have inside."""

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

from pydantic import Field, model_validator

from stoker.container import property_string, slots
from stoker.container.allowed import (
    Bridge,
    Gateway4,
    Gateway6,
    Interface,
    Ip4,
    Ip6,
    Strict,
)
from stoker.container.property_string import Edit

# key of the data -> key of the property string
_KEYS = {
    "bridge": "bridge",
    "firewall": "firewall",
    "gateway": "gw",
    "gateway6": "gw6",
    "ip": "ip",
    "ip6": "ip6",
    "mtu": "mtu",
    "rate_mbps": "rate",
    "vlan": "tag",
}
_GATEWAYS = (("ip", "gw"), ("ip6", "gw6"))


class Network(Strict):
    """One interface. What is not said stays, the hardware address too."""

    name: Interface
    bridge: Bridge | None = None
    """Needed where there is no such interface yet."""
    ip: Ip4 | None = None
    gateway: Gateway4 | None = None
    ip6: Ip6 | None = None
    gateway6: Gateway6 | None = None
    mtu: Annotated[int, Field(ge=64, le=65535)] | None = None
    vlan: Annotated[int, Field(ge=1, le=4094)] | None = None
    firewall: bool | None = None
    rate_mbps: Annotated[int, Field(ge=1, le=1 << 20)] | None = None
    """Megabytes a second, as Proxmox counts its `rate`."""

    @model_validator(mode="after")
    def _gateways_go_with_fixed_addresses(self) -> "Network":
        for key, ip, gateway in (("gateway", self.ip, self.gateway), ("gateway6", *self._six)):
            if gateway and ip is not None and "/" not in ip:
                raise ValueError(f"has a {key}, which goes only with a fixed address")
        return self

    @property
    def _six(self) -> tuple[str | None, str | None]:
        return self.ip6, self.gateway6

    @property
    def addresses(self) -> tuple[str, ...]:
        """Its fixed addresses, in one spelling, without their prefixes."""
        fixed = [ip for ip in (self.ip, self.ip6) if ip and "/" in ip]
        return tuple(str(ipaddress.ip_interface(ip).ip) for ip in fixed)

    @property
    def fields(self) -> dict[str, str]:
        """What is said of it, as a property string has it; empty: that is to go."""
        said = {word: getattr(self, key) for key, word in _KEYS.items()}
        fields = {word: _word(value) for word, value in said.items() if value is not None}
        # A gateway is of the fixed address that was there before.
        stale = {gw: "" for ip, gw in _GATEWAYS if "/" not in fields.get(ip, "/")}
        return {"name": self.name, **stale, **fields}


def _word(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def edits(networks: Sequence[Network], there: Sequence[Mapping[str, str]]) -> dict[str, Edit]:
    """Key -> what its value becomes. `there`: the keys that hold, then those to come."""
    found: dict[str, Edit] = {}
    for network in networks:
        key = _key_of(network, there, found) or slots.free("net", [*there, found])
        found[key] = property_string.merging("net", network.fields)
    return found


def lacking(networks: Sequence[Network], there: Sequence[Mapping[str, str]]) -> list[str]:
    """What is not said of those that are not there yet."""
    return [
        f"container.networks: {network.name} is new and has no bridge"
        for network in networks
        if network.bridge is None and _key_of(network, there) is None
    ]


def _key_of(
    network: Network, there: Sequence[Mapping[str, str]], besides: Collection[str] = ()
) -> str | None:
    return slots.find("net", there, "name", network.name, besides)
