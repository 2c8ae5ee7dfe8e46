"""What the hosts of an inventory say, looked at all at once."""

from typing import Any

import pytest

from stoker.container.wanted import check
from stoker.refused import Refused


def refused_hosts(**hosts: Any) -> list[str]:
    with pytest.raises(Refused) as refused:
        check(hosts)
    return str(refused.value).splitlines()[1:]


HERE = {"pct_host": "pve1", "pct_vmid": 200}
NEXT = {"pct_host": "pve1", "pct_vmid": 201}
ETH0 = {"name": "eth0", "ip": "192.0.2.20/24"}


def test_hosts_without_the_data_are_not_looked_at() -> None:
    check({"pve1": {}, "gpu-a": {"container_defaults": {"cores": "x"}, "pct_vmid": 3}})


def test_every_problem_of_every_host_is_told_at_once() -> None:
    assert refused_hosts(
        a={**HERE, "container": {"cores": "x"}, "container_defaults": {"swap_mib": "y"}},
        b={"pct_vmid": 99, "container": [1]},
        c={"pct_host": "pve1", "pct_vmid": True, "container": {}},
    ) == [
        "a: container.cores: 'x' is no whole number",
        "a: container_defaults.swap_mib: 'y' is no whole number of MiB",
        "b: pct_vmid: 99 is no VMID; write a number from 100 to 999999999",
        "b: pct_host: is not said; name the node that has the container",
        "b: container: is no dictionary",
        "c: pct_vmid: True is no VMID; write a number from 100 to 999999999",
    ]


def test_one_address_twice_is_refused_and_in_two_vlans_it_is_not() -> None:
    same: Any = {"networks": [{**ETH0, "ip6": "2001:DB8::1/64"}]}
    also: Any = {"networks": [{"name": "lan", "ip": "192.0.2.20/16", "ip6": "2001:db8:0::1/48"}]}
    assert refused_hosts(a={**HERE, "container": same}, b={**NEXT, "container": also}) == [
        "b: container.networks: lan has 192.0.2.20, as a's eth0 has",
        "b: container.networks: lan has 2001:db8::1, as a's eth0 has",
    ]
    apart: Any = {"networks": [{**ETH0, "vlan": 7}]}
    check({"a": {**HERE, "container": same}, "b": {**NEXT, "container": apart}})


def test_one_address_twice_in_one_container_is_refused() -> None:
    twice: Any = {"networks": [ETH0, {**ETH0, "name": "lan"}]}
    assert refused_hosts(a={**HERE, "container": twice}) == [
        "a: container.networks: lan has 192.0.2.20, as a's eth0 has"
    ]


def test_one_gpu_in_two_containers_of_a_node_is_refused_unless_both_say_so() -> None:
    one: Any = {"gpus": ["01:00.0", "02:00.0"]}
    two: Any = {"gpus": ["0000:01:00.0"]}
    shared = {"gpus_shared": True}
    end = "give it to one, or say gpus_shared in both"
    for first, second in ((one, two), ({**one, **shared}, two), (one, {**two, **shared})):
        assert refused_hosts(a={**HERE, "container": first}, b={**NEXT, "container": second}) == [
            f"b: container.gpus: 0000:01:00.0 is a's too; {end}"
        ]
    every: Any = {"gpus": "all"}
    assert refused_hosts(a={**HERE, "container": every}, b={**NEXT, "container": every}) == [
        f"b: container.gpus: every GPU is a's too; {end}"
    ]
    assert len(refused_hosts(a={**HERE, "container": every}, b={**NEXT, "container": one})) == 2
    check(
        {
            "a": {**HERE, "container": {**one, **shared}},
            "b": {**NEXT, "container": {**two, **shared}},
            "c": {"pct_host": "pve2", "pct_vmid": 300, "container": every},
            "d": {"pct_host": "pve1", "pct_vmid": 202, "container": {"gpus": []}},
        }
    )
