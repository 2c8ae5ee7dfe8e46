"""Which guests an inventory takes, and what it says of the others."""

from stoker.proxmox.choosing import chosen, flagsets
from stoker.proxmox.cluster import Guest
from tests.proxmox.clusters import cluster, guest, taken


def vmids(guests: tuple[Guest, ...]) -> list[int]:
    return [one.vmid for one in guests]


def test_a_container_with_the_tag_is_taken_and_a_foreign_one_is_not() -> None:
    found = taken(
        guest(200), guest(201, tags=""), guest(202, tags="web;prod"), guest(203, tags="a;stoker")
    )
    assert vmids(found.guests) == [200, 203]
    assert found.told == ()


def test_a_tag_that_only_begins_like_ours_is_another() -> None:
    assert taken(guest(200, tags="stoker2"), guest(201, tags="stoker-old")).guests == ()


def test_a_tag_of_a_flag_set_alone_takes_nothing_and_is_told() -> None:
    found = taken(guest(200, "gpu-a", tags="stoker.qwen3.6-27b"))
    assert found.guests == ()
    assert found.told == ("tagged for a flag set, but not stoker, so left out: 200 'gpu-a'",)


def test_a_tag_names_the_flag_set_that_is_served() -> None:
    one = taken(guest(200, tags="stoker;stoker.qwen3.6-27b")).guests[0]
    assert flagsets(one, "stoker") == ["qwen3.6-27b"]


def test_several_flag_sets_are_sorted() -> None:
    one = taken(guest(200, tags="stoker.b;stoker;stoker.a")).guests[0]
    assert flagsets(one, "stoker") == ["a", "b"]


def test_a_template_is_ignored_in_silence() -> None:
    found = taken(guest(200, template=1), guest(201))
    assert vmids(found.guests) == [201]
    assert found.told == ()


def test_a_stopped_container_is_left_out_and_named() -> None:
    found = taken(guest(200, "gpu-a", status="stopped"), guest(201))
    assert vmids(found.guests) == [201]
    assert found.told == ("stopped, so left out (`stopped: true` takes them too): 200 'gpu-a'",)


def test_a_stopped_container_is_taken_when_asked_for() -> None:
    found = chosen(cluster(guest(200, status="stopped")), "stoker", stopped=True)
    assert vmids(found.guests) == [200]


def test_a_virtual_machine_is_left_out_and_named() -> None:
    found = taken(guest(300, "win", type="qemu"), guest(200))
    assert vmids(found.guests) == [200]
    assert found.told == ("tagged, but virtual machines, so left out: 300 'win'",)


def test_containers_of_a_node_that_is_offline_are_left_out_in_one_sentence() -> None:
    lost = [guest(vmid, node="pve2", status="unknown", name="") for vmid in (203, 202)]
    found = taken(guest(200), *lost, pve1=True, pve2=False)
    assert vmids(found.guests) == [200]
    assert found.told == ("node pve2 is offline, so left out: 202 'ct202', 203 'ct203'",)


def test_a_container_of_an_offline_node_stays_out_even_where_stopped_ones_are_taken() -> None:
    there = cluster(guest(200, status="unknown"), pve1=False)
    assert chosen(there, "stoker", stopped=True).guests == ()


def test_a_container_whose_state_is_not_known_is_taken() -> None:
    assert vmids(taken(guest(200, status="unknown")).guests) == [200]


def test_only_nodes_that_have_one_are_hosts() -> None:
    found = taken(guest(200, node="pve2"), guest(201, tags=""), pve1=True, pve2=True)
    assert [node.name for node in found.nodes] == ["pve2"]


def test_another_tag_can_be_asked_for() -> None:
    found = chosen(cluster(guest(200), guest(201, tags="gpu;gpu.x")), "gpu", stopped=False)
    assert vmids(found.guests) == [201]
    assert flagsets(found.guests[0], "gpu") == ["x"]


def test_a_name_with_control_characters_is_told_in_one_line() -> None:
    told = taken(guest(200, "a\n\x1b[31mb", status="stopped")).told[0]
    assert told.isprintable() and "\n" not in told
