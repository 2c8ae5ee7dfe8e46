from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.container import creation, mounts
from stoker.container.wanted import Wanted
from stoker.refused import Refused
from stoker.serving import layout
from tests.container import generated
from tests.container.lab import NEEDED


def refusal(data: Any, defaults: Any = None) -> list[str]:
    with pytest.raises(Refused) as refused:
        Wanted.of(data, defaults)
    first, *problems = str(refused.value).splitlines()
    assert first == "cannot use this host data; correct it:"
    return problems


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
        {"device_gid": 65536},
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
