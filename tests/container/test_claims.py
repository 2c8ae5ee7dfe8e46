import pytest

from stoker.container import claims
from stoker.refused import Refused
from tests.container.cards import CARDS, FIRST, NUMBERS, SECOND

CONF = "arch: amd64\nhostname: {name}\nunprivileged: 1\n{lines}"


def conf(*lines: str, name: str = "other") -> str:
    return CONF.format(name=name, lines="".join(f"{line}\n" for line in lines))


def found(texts: dict[int, str], running: frozenset[int] = frozenset()) -> tuple[str, ...]:
    return claims.conflicts(200, CARDS, texts, NUMBERS, running)


def test_its_own_lines_are_no_conflict() -> None:
    assert found({200: conf("dev0: /dev/nvidia0")}) == ()


def test_one_container_a_gpu_is_no_conflict() -> None:
    texts = {200: conf(), 201: conf("dev0: /dev/nvidia1", "dev1: /dev/nvidiactl")}
    assert claims.conflicts(200, [FIRST], texts, NUMBERS) == ()


def test_a_device_of_another_container_is_named_with_its_line() -> None:
    texts = {201: conf("dev3: /dev/nvidia1,mode=0666", name="trainer")}
    assert found(texts, frozenset({201})) == (
        f"cannot pass /dev/nvidia1 ({SECOND.uuid}) to CT 200: CT 201 (trainer) passes it too: "
        "dev3: /dev/nvidia1; take it out there, name another GPU, or say gpus_shared: True",
    )


def test_a_stopped_container_counts_and_is_told_to_be_stopped() -> None:
    assert (
        "CT 201 (other), which is stopped, passes it too"
        in found({201: conf("dev0: /dev/nvidia0")})[0]
    )


def test_a_template_counts() -> None:
    assert (
        "template CT 201 (other) passes it too"
        in found({201: conf("template: 1", "dev0: /dev/nvidia0")})[0]
    )


def test_raw_lines_count_in_both_spellings() -> None:
    for sign in (": ", " = "):
        lines = (
            f"lxc.cgroup2.devices.allow{sign}c 195:* rwm",
            f"lxc.mount.entry{sign}/dev/nvidia0 dev/nvidia0 none bind,optional,create=file",
        )
        (sentence,) = found({201: conf(*lines)})
        assert "/dev/nvidia0" in sentence
        assert "lxc.mount.entry: /dev/nvidia0" in sentence
        assert SECOND.uuid not in sentence


def test_root_of_a_privileged_container_can_make_the_node_that_a_rule_allows() -> None:
    text = "arch: amd64\nhostname: old\nlxc.cgroup2.devices.allow: c 195:* rwm\n"
    assert "lxc.cgroup2.devices.allow: c 195:* rwm" in found({201: text})[0]
    assert found({201: text + "unprivileged: 1\n"}) == ()


def test_what_the_next_start_brings_counts_and_a_snapshot_does_not() -> None:
    assert found({201: conf("[pve:pending]", "dev0: /dev/nvidia0")}) != ()
    assert found({201: conf("[before]", "dev0: /dev/nvidia0")}) == ()


def test_what_the_next_start_takes_away_is_there_until_then() -> None:
    assert found({201: conf("dev0: /dev/nvidia0", "[pve:pending]", "delete: dev0")}) != ()


def test_every_container_is_told_at_once_unless_they_are_shared() -> None:
    texts = {201: conf("dev0: /dev/nvidia0"), 202: conf("dev0: /dev/nvidia1")}
    with pytest.raises(Refused) as error:
        claims.check(200, CARDS, texts, NUMBERS)
    assert len(str(error.value).splitlines()) == 2
    claims.check(200, CARDS, texts, NUMBERS, shared=True)


@pytest.mark.parametrize(
    "line",
    ["hostpci0: 0000:01:00.0,pcie=1", "hostpci3: host=01:00", "hostpci0: 01:00.0;01:00.1,x-vga=1"],
)
def test_a_vm_that_takes_it_at_its_next_start_is_told(line: str) -> None:
    pci = {300: ["hostpci9: 0000:99:00", "hostpci8: mapping=gpu", line]}
    with pytest.raises(Refused) as error:
        claims.check(200, CARDS, {}, NUMBERS, pci=pci)
    assert str(error.value) == (
        f"cannot pass /dev/nvidia0 ({FIRST.uuid}) to CT 200: VM 300 takes it when it starts: "
        f"{line}; take it out there, name another GPU, or say gpus_shared: True"
    )
    claims.check(200, CARDS, {}, NUMBERS, shared=True, pci=pci)
    claims.check(200, [SECOND], {}, NUMBERS, pci=pci)
