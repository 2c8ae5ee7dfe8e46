"""Hosts and groups out of containers, whatever these are called."""

import keyword
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.proxmox import naming
from stoker.proxmox.choosing import chosen
from stoker.proxmox.cluster import asked
from stoker.proxmox.hosts import groups
from stoker.refused import Refused
from tests.proxmox.clusters import guest, made, names, sites, taken


def test_a_container_is_a_host_by_its_hostname() -> None:
    found = made(guest(200, "gpu-a"))
    assert found["inference"] == [("@pct/gpu-a", {"pct_host": "pve1", "pct_vmid": 200})]


def test_a_node_is_reached_at_the_address_that_proxmox_knows() -> None:
    assert made(guest(200))["pve"] == [("@pct/pve1", {"ssh_hostname": "192.0.2.11"})]


def test_an_address_of_our_own_goes_before() -> None:
    site = {**sites().clusters["lab"].model_dump(), "addresses": {"pve1": "198.51.100.7"}}
    asked = sites(clusters={"lab": site}, ssh={"ssh_user": "admin", "ssh_port": 2222})
    found, _ = groups({"lab": taken(guest(200))}, asked)
    data = {"ssh_user": "admin", "ssh_port": 2222, "ssh_hostname": "198.51.100.7"}
    assert found["pve"] == [("@pct/pve1", data)]


def test_the_flag_sets_of_the_tags_are_data_and_without_one_group_data_decide() -> None:
    found = made(guest(200, tags="stoker;stoker.a"), guest(201))
    first, second = (data for _, data in found["inference"])
    assert first["flagsets"] == ["a"]
    assert "flagsets" not in second


def test_tags_pools_and_nodes_are_groups() -> None:
    found = made(
        guest(200, "a", tags="stoker;tp8", pool="prod"),
        guest(201, "b", node="pve2"),
        pve1=True,
        pve2=True,
    )
    assert {name: names(hosts) for name, hosts in found.items()} == {
        "pve": ["@pct/pve1", "@pct/pve2"],
        "inference": ["@pct/a", "@pct/b"],
        "node_pve1": ["@pct/a"],
        "node_pve2": ["@pct/b"],
        "pool_prod": ["@pct/a"],
        "tag_stoker": ["@pct/a", "@pct/b"],
        "tag_tp8": ["@pct/a"],
    }


def test_two_containers_of_one_hostname_are_named_by_node_and_vmid() -> None:
    found = made(guest(200, "gpu"), guest(201, "GPU"), guest(202, "other"))
    assert names(found["inference"]) == ["@pct/pve1/200", "@pct/pve1/201", "@pct/other"]


@pytest.mark.parametrize(
    "name",
    [
        "__init__",
        "größe",
        "a b",
        "*",
        "a,b",
        "@pct",
        "-x",
        "",
        "a/b",
        "pve1",
        "PVE",
        "all",
        "proxmox",
        "inference",
        "tag_stoker",
        "node_pve1",
    ],
)
def test_a_name_that_is_no_hosts_or_another_ones_is_replaced(name: str) -> None:
    found = made(guest(200, "x") | {"name": name})
    assert names(found["inference"]) == ["@pct/pve1/200"]


@pytest.mark.parametrize(
    "tag", ["import os", "class", "__builtins__", "ä", "a+b", "1", "None", "a.b-c"]
)
def test_every_group_is_a_name_for_python(tag: str) -> None:
    found = made(guest(200, tags=f"stoker;{tag}", pool=tag, node="pve1"))
    assert all(name.isascii() and name.isidentifier() for name in found)
    assert not any(keyword.iskeyword(name) or name.startswith("_") for name in found)


def test_tags_that_would_share_a_group_do_not_and_it_is_told() -> None:
    found, told = groups(
        {"lab": taken(guest(200, "a", tags="stoker;tp-8"), guest(201, "b", tags="stoker;tp_8"))},
        sites(),
    )
    ended = next(name for name in found if name.startswith("tag_tp_8_"))
    assert names(found["tag_tp_8"]) == ["@pct/b"]
    assert names(found[ended]) == ["@pct/a"]
    assert told == [f"the group of tag 'tp-8' is {ended}: another one's name would be the same"]


@given(st.sets(st.text("ab_-.+ ä", min_size=1, max_size=4), max_size=8))
def test_no_two_words_share_a_group(words: set[str]) -> None:
    named = naming.groups("tag", words)
    assert set(named) == words
    assert len(set(named.values())) == len(words)
    assert all(name.isascii() and name.isidentifier() for name in named.values())


def test_a_node_that_stands_alone_is_a_cluster_of_one() -> None:
    alone = [{"type": "node", "name": "pve1", "ip": "192.0.2.1", "online": 1, "nodeid": 0}]
    answers: dict[str, Any] = {"cluster/status": alone, "cluster/resources": [guest(200, "gpu")]}
    found = chosen(asked(lambda path, **_: answers[path], "lab"), "stoker", stopped=False)
    assert names(groups({"lab": found}, sites())[0]["pve"]) == ["@pct/pve1"]


def two_clusters(second: dict[str, Any]) -> Any:
    asked = sites("lab", "office")
    office = {**asked.clusters["office"].model_dump(), **second}
    lab = asked.clusters["lab"].model_dump()
    return sites(clusters={"lab": lab, "office": office})


def test_two_clusters_with_the_same_names_are_never_merged() -> None:
    found, _ = groups(
        {"lab": taken(guest(200, "gpu")), "office": taken(guest(200, "gpu"))},
        two_clusters({"addresses": {"pve1": "198.51.100.1"}}),
    )
    assert found["pve"] == [
        ("@pct/pve1.lab", {"ssh_hostname": "192.0.2.11"}),
        ("@pct/pve1.office", {"ssh_hostname": "198.51.100.1"}),
    ]
    assert found["inference"] == [
        ("@pct/pve1.lab/200", {"pct_host": "pve1.lab", "pct_vmid": 200}),
        ("@pct/pve1.office/200", {"pct_host": "pve1.office", "pct_vmid": 200}),
    ]
    assert names(found["node_pve1_lab"]) == ["@pct/pve1.lab/200"]
    assert len(found["tag_stoker"]) == 2


def test_one_cluster_named_twice_is_refused() -> None:
    with pytest.raises(
        Refused, match=r"^cannot tell @pct/pve1.lab from @pct/pve1.office: both are at"
    ):
        groups({"lab": taken(guest(200)), "office": taken(guest(200))}, two_clusters({}))


def test_two_hundred_containers_on_five_nodes_take_no_time() -> None:
    nodes = {f"pve{index}": True for index in range(1, 6)}
    guests = [
        guest(
            200 + n,
            f"gpu-{n}",
            node=f"pve{1 + n % 5}",
            tags=f"stoker;stoker.m{n % 7};rack{n % 9}",
            pool=f"p{n % 4}",
        )
        for n in range(200)
    ]
    began = time.process_time()
    found = made(*guests, **nodes)
    assert time.process_time() - began < 0.5
    assert len(found["inference"]) == 200 and len(found["pve"]) == 5
