from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.container import creation, mounts
from stoker.container.wanted import Wanted, check
from stoker.refused import Refused
from stoker.serving import layout
from tests.container import generated, lab

NEEDED = {"template": "local:vztmpl/d.tar.zst", "storage": "local-zfs", "rootfs_gib": 8}


def refusal(data: Any, defaults: Any = None) -> list[str]:
    with pytest.raises(Refused) as refused:
        Wanted.of(data, defaults)
    first, *problems = str(refused.value).splitlines()
    assert first == "cannot use this host data; correct it:"
    return problems


def refused_hosts(**hosts: Any) -> list[str]:
    with pytest.raises(Refused) as refused:
        check(hosts)
    return str(refused.value).splitlines()[1:]


def test_what_is_not_said_is_nobodys_business() -> None:
    wanted = Wanted.of({})
    assert wanted.hostname is None and wanted.gpus is None and wanted.tags == ()
    assert wanted.started and not wanted.allow_restart


def test_defaults_are_merged_one_level_deep_lists_replaced_and_none_takes_one_away() -> None:
    defaults = {"cores": 8, "onboot": True, "features": {"nesting": True}, "tags": ["a", "b"]}
    wanted = Wanted.of({"features": {"keyctl": True}, "tags": ["C"], "onboot": None}, defaults)
    assert wanted == Wanted.of(
        {"cores": 8, "features": {"nesting": True, "keyctl": True}, "tags": ["c"]}
    )


def test_every_problem_is_told_at_once_with_its_key_and_whose_it_is() -> None:
    told = refusal(
        {"memory_mib": "8 GB", "cores": True, "memry_mib": 3, "features": {"nest": True}},
        {"onboot": 1, "hostname": "a b"},
    )
    assert told == [
        "container_defaults.hostname: 'a b' is no host name; write letters, digits, hyphens and "
        "dots",
        "container.cores: True is no whole number",
        "container.memory_mib: '8 GB' is no whole number of MiB",
        "container_defaults.onboot: 1 is neither True nor False",
        "container.features.nest: is no key of ours; is nesting meant?",
        "container.memry_mib: is no key of ours; is memory_mib meant?",
    ]


def test_what_is_no_dictionary_is_told_as_that() -> None:
    assert refusal([1], "x") == [
        "container: is no dictionary",
        "container_defaults: is no dictionary",
    ]
    assert refusal({"startup": 3}) == ["container.startup: 3 is no dictionary"]
    assert refusal({"tags": "stoker"}) == ["container.tags: 'stoker' is no list"]


@pytest.mark.parametrize(
    "said",
    [
        {"template": "local:vztmpl/../../etc/shadow"},
        {"template": "/root/t.tar.zst"},
        {"storage": "local,size=1"},
        {"rootfs_gib": 10**30},
        {"rootfs_gib": 0},
        {"pool": "a\nb"},
        {"hostname": "-a"},
        {"hostname": "a\nlxc.hook.start: /x"},
        {"cores": 0},
        {"cores": 2.0},
        {"memory_mib": -1},
        {"memory_mib": 1.5},
        {"nameserver": "192.0.2.1 ;rm"},
        {"nameserver": "fe80::1%a b"},
        {"searchdomain": "a  b"},
        {"searchdomain": ""},
        {"description": "a\x00b"},
        {"description": "a\rb"},
        {"description": "\ud800"},
        {"description": "x" * 8193},
        {"startup": {"order": -1}},
        {"features": {"mount": ["nfs;fuse=1"]}},
        {"tags": ["a b"]},
        {"tags": ["é"]},
        {"tags": [1]},
        {"networks": {"name": "eth0"}},
        {"networks": [{"bridge": "vmbr0"}]},
        {"networks": [{"name": "eth0", "bridge": "vmbr0,ip=dhcp"}]},
        {"networks": [{"name": "eth0\n"}]},
        {"networks": [{"name": "eth0", "ip": "192.0.2.1"}]},
        {"networks": [{"name": "eth0", "ip": "192.0.2.1/33"}]},
        {"networks": [{"name": "eth0", "ip": "192.0.2.1/24,gw=192.0.2.2"}]},
        {"networks": [{"name": "eth0", "ip": "dhcp", "gateway": "192.0.2.1"}]},
        {"networks": [{"name": "eth0", "ip6": "fe80::1%a/64"}]},
        {"networks": [{"name": "eth0", "vlan": 4095}]},
        {"networks": [{"name": "eth0"}, {"name": "eth0"}]},
        {"mounts": [{"source": "tank/models", "target": "/m"}]},
        {"mounts": [{"source": "/tank/../etc", "target": "/m"}]},
        {"mounts": [{"source": "/", "target": "/m"}]},
        {"mounts": [{"source": "/a,mp=/etc", "target": "/m"}]},
        {"mounts": [{"source": "/a=b", "target": "/m"}]},
        {"mounts": [{"source": "/a", "target": "m"}]},
        {"mounts": [{"source": "/a", "target": "/"}]},
        {"mounts": [{"source": "/a", "target": "/m\n"}]},
        {"mounts": [{"source": "/a", "target": "/var/lib/stoker/wheels/"}]},
        {"mounts": [{"source": "/a", "target": "/m", "size_gib": 1}]},
        {"mounts": [{"source": "/a", "target": "/m"}, {"source": "/b", "target": "/m/"}]},
        {"device_mode": 438},
        {"device_mode": "666"},
        {"device_mode": "0666,uid=0"},
        {"device_gid": -1},
        {"device_gid": True},
        {"stop_timeout_s": 0},
        {"password": "hunter2"},
        {1: 2},
    ],
    ids=str,
)
def test_what_would_break_out_or_makes_no_sense_is_refused(said: dict[Any, Any]) -> None:
    told = refusal(said)
    assert len(told) == 1
    assert told[0].startswith(f"container.{next(iter(said))}")
    assert "hunter2" not in told[0] and told[0].isprintable()


@pytest.mark.parametrize("name", [0, "0", "nvidia0", "/dev/nvidia0"])
def test_a_minor_is_no_name_of_a_gpu(name: object) -> None:
    for said in (name, [name]):
        [told] = refusal({"gpus": said})
        assert "is a minor number, which moves between boots" in told
        assert 'write its UUID, "GPU-...", of `nvidia-smi -L`, or its PCI address' in told


def test_every_wrong_gpu_is_told_in_one_sentence() -> None:
    [told] = refusal({"gpus": ["GPU-x", "MIG-1", "01:00.0", "00000000:01:00.0"]})
    assert "'GPU-x' is no GPU's name; 'MIG-1' is a part of a GPU (MIG)" in told
    assert "0000:01:00.0 is named twice" in told


def test_a_gpu_has_one_spelling() -> None:
    uuid = "GPU-0A0B0C0D-1111-2222-3333-444455556666"
    wanted = Wanted.of({"gpus": ["00000000:C1:00.0", uuid]})
    assert wanted.gpus == ("0000:c1:00.0", f"GPU-{uuid[4:].lower()}")
    assert Wanted.of({"gpus": "all"}).gpus == "all"
    assert Wanted.of({"gpus": []}).gpus == ()


def test_a_new_container_needs_more_than_one_that_is_there() -> None:
    said = {
        "networks": [{"name": "eth0", "mtu": 9000}],
        "mounts": [{"source": "local-zfs", "target": "/data"}],
    }
    with pytest.raises(Refused) as refused:
        Wanted.of(said).require_creatable()
    assert str(refused.value).splitlines() == [
        "cannot create the container; say in its data:",
        "container.template is not said",
        "container.storage is not said",
        "container.rootfs_gib is not said",
        "container.networks: eth0 is new and has no bridge",
        "container.mounts: /data is new and has no size_gib",
    ]


def test_a_new_container_is_unprivileged_unless_said() -> None:
    made = creation.options(Wanted.of({**NEEDED, "pool": "gpu", "startup": {}}), 200)
    assert made == {
        "ostemplate": "local:vztmpl/d.tar.zst",
        "storage": "local-zfs",
        "rootfs": "local-zfs:8",
        "unprivileged": "1",
        "pool": "gpu",
    }
    assert (
        creation.options(Wanted.of({**NEEDED, "unprivileged": False}), 200)["unprivileged"] == "0"
    )


def test_a_new_container_has_all_that_is_said_in_proxmoxs_words() -> None:
    said = {
        **NEEDED,
        "memory_mib": 2048,
        "features": {"nesting": True, "mount": ["nfs", "cifs"]},
        "startup": {"order": 2, "down_s": 60},
        "tags": ["stoker", "Lab"],
        "networks": [
            {"name": "eth0", "bridge": "vmbr0", "ip": "192.0.2.20/24", "gateway": "192.0.2.1"},
            {"name": "lan", "bridge": "vmbr1", "vlan": 7, "firewall": True, "rate_mbps": 100},
        ],
        "mounts": [
            {"source": "/tank/my models", "target": "/models", "read_only": True},
            {"source": "local-zfs", "target": "/data", "size_gib": 100, "backup": False},
        ],
        "device_gid": 1000,
    }
    made = creation.options(Wanted.of(said), 200, lab.DEVICES[:1])
    assert list(made.items())[4:] == [
        ("memory", "2048"),
        ("features", "nesting=1,mount=nfs;cifs"),
        ("startup", "2,down=60"),
        ("tags", "stoker;lab"),
        ("net0", "name=eth0,bridge=vmbr0,gw=192.0.2.1,ip=192.0.2.20/24"),
        ("net1", "name=lan,bridge=vmbr1,firewall=1,rate=100,tag=7"),
        ("mp0", "/tank/my models,mp=/models,ro=1"),
        ("mp1", "local-zfs:100,mp=/data,backup=0"),
        ("dev0", "/dev/nvidia0,mode=0666"),
    ]


def test_numbers_below_100_are_proxmoxs_own() -> None:
    with pytest.raises(Refused, match="cannot create CT 99: Proxmox keeps"):
        creation.options(Wanted.of(NEEDED), 99)


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


def test_the_wheels_place_is_where_their_role_mounts_them() -> None:
    assert PurePosixPath(mounts.WHEELS) == PurePosixPath(layout.WHEELS)


_LETTERS = "aZ07/.,=:;%-_ \n\t\x00\x1bé\u2028\ud800"
_PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(_LETTERS, max_size=9)
_WORDS = st.sampled_from(["name", "ip", "source", "target", "x"])
_ANYTHING = st.recursive(
    _PLAIN,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(Wanted.model_fields)), _ANYTHING, max_size=4))
def test_whatever_is_written_ends_in_a_sentence_or_in_sound_options(said: dict[str, Any]) -> None:
    try:
        wanted = Wanted.of(said, NEEDED)
        made = creation.options(wanted, 200)
    except Refused as refused:
        assert all(line.isprintable() for line in str(refused).splitlines())
        return
    for key, value in made.items():
        assert key == "description" or value.isprintable()


def test_generated_ones_are_hashable_and_differ() -> None:
    wanted = generated.configurations(3)
    assert len(set(wanted)) == len(wanted)
