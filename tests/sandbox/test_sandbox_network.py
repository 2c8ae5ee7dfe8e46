"""The choice of addresses and the rules of the NAT."""

import pytest

from stoker.refused import Refused
from stoker.sandbox import network


def test_the_first_subnet_is_the_beginning_of_test_net_2() -> None:
    assert network.free_subnet(["10.0.0.1/8"]) == "198.51.100.0/27"


def test_a_subnet_that_overlaps_an_address_in_use_is_passed_over() -> None:
    taken = ["198.51.100.9/26", "198.51.100.64/27", "198.51.100.100"]
    assert network.free_subnet(taken) == "198.51.100.128/27"


def test_when_test_net_2_is_used_up_the_benchmark_range_follows() -> None:
    assert network.free_subnet(["198.51.100.0/24"]) == "198.18.100.0/27"


def test_a_name_that_resolves_into_the_range_is_not_covered() -> None:
    found = list(network.addresses_of(["http://198.51.100.5/debian", "file:/srv/mirror"]))
    assert network.free_subnet(found) == "198.51.100.32/27"


def test_when_all_subnets_are_in_use_the_sentence_says_what_to_do() -> None:
    with pytest.raises(Refused, match=r"^cannot choose a network: .*sandbox down --name NAME`$"):
        network.free_subnet(["198.51.100.0/24", "198.18.0.0/15"])


def test_gateway_nodes_and_containers_share_a_subnet_without_meeting() -> None:
    subnet = "198.51.100.64/27"
    addresses = [network.gateway(subnet)]
    addresses += [network.node_address(subnet, index) for index in range(network.MOST_NODES)]
    most = network.MOST_CONTAINERS
    addresses += [network.container_address(subnet, index) for index in range(most)]
    assert len(set(addresses)) == 30
    assert addresses[0] == "198.51.100.65" and addresses[-1] == "198.51.100.94"


def test_an_address_takes_its_prefix_from_its_subnet() -> None:
    assert network.with_prefix("198.51.100.66", "198.51.100.64/26") == "198.51.100.66/26"


def test_the_rules_replace_those_of_an_earlier_run() -> None:
    rules = network.ruleset("stk-test-a", "198.51.100.0/26")
    assert rules.startswith("table ip stk_test_a\ndelete table ip stk_test_a\n")
    assert 'ip saddr 198.51.100.0/26 oifname != "stk-test-a" masquerade' in rules
