"""The choice of addresses and the rules of the NAT."""

import pytest

from stoker.refused import Refused
from stoker.sandbox import network


def test_the_first_subnet_is_the_beginning_of_test_net_2() -> None:
    assert network.free_subnet(["10.0.0.1/8"]) == "198.51.100.0/26"


def test_a_subnet_that_overlaps_an_address_in_use_is_passed_over() -> None:
    taken = ["198.51.100.9/26", "198.51.100.64/26", "198.51.100.130/32"]
    assert network.free_subnet(taken) == "198.51.100.192/26"


def test_test_net_3_comes_after_test_net_2() -> None:
    assert network.free_subnet(["198.51.100.0/24"]) == "203.0.113.0/26"


def test_when_all_subnets_are_in_use_the_sentence_says_what_to_do() -> None:
    with pytest.raises(Refused, match=r"^cannot choose a network: .*sandbox down --name NAME`$"):
        network.free_subnet(["198.51.100.0/24", "203.0.113.0/24"])


def test_gateway_nodes_and_containers_share_a_subnet_without_meeting() -> None:
    subnet = "198.51.100.64/26"
    addresses = [network.gateway(subnet)]
    addresses += [network.node_address(subnet, index) for index in range(8)]
    addresses += [network.container_address(subnet, index) for index in range(52)]
    assert len(set(addresses)) == 61
    assert addresses[0] == "198.51.100.65" and addresses[-1] == "198.51.100.125"


def test_the_rules_replace_those_of_an_earlier_run() -> None:
    rules = network.ruleset("stk-test-a", "198.51.100.0/26")
    assert rules.startswith("table ip stk_test_a\ndelete table ip stk_test_a\n")
    assert 'ip saddr 198.51.100.0/26 oifname != "stk-test-a" masquerade' in rules
