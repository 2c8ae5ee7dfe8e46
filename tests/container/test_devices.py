import pytest

from stoker.container import devices
from stoker.container.devices import Card, Device
from stoker.refused import Refused
from tests.container.cards import CARDS, FIRST, NUMBERS, OF_A_VM, SECOND


@pytest.mark.parametrize("name", [SECOND.uuid, "0000:21:00.0"])
def test_a_gpu_is_named_by_uuid_or_address(name: str) -> None:
    assert devices.chosen([name], CARDS) == (SECOND,)


def test_the_order_is_that_of_the_slots_and_each_counts_once() -> None:
    assert devices.chosen([SECOND.uuid, FIRST.uuid, "0000:21:00.0"], CARDS) == CARDS


def test_an_unknown_gpu_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(Refused) as error:
        devices.chosen(["GPU-00000000-0000-0000-0000-000000000000"], [FIRST])
    assert str(error.value) == (
        "cannot pass GPU GPU-00000000-0000-0000-0000-000000000000: the node has "
        f"{FIRST.uuid} at 0000:01:00.0; name one of these"
    )


def test_a_uuid_that_the_driver_does_not_know_yet_is_refused_with_the_way_to_know_it() -> None:
    closed = Card("", "0000:21:00.0", 1)
    with pytest.raises(Refused) as error:
        devices.chosen([SECOND.uuid], [FIRST, closed])
    assert str(error.value).endswith(
        "UUID not known at 0000:21:00.0; run nvidia-smi -L on the node, which opens each, and run "
        "again, or name one of these"
    )
    with pytest.raises(Refused, match=r"0000:41:00\.0 \(its driver is vfio-pci\); name one"):
        devices.chosen([SECOND.uuid], [FIRST, OF_A_VM])


def test_a_gpu_of_a_vm_is_refused() -> None:
    with pytest.raises(Refused, match=r"vfio-pci has 0000:41:00\.0, so it is for a VM"):
        devices.chosen(["0000:41:00.0"], [*CARDS, OF_A_VM])


def test_a_gpu_that_the_driver_did_not_take_is_refused() -> None:
    with pytest.raises(
        Refused, match=r"0000:61:00\.0 has no device node, since the driver did not"
    ):
        devices.chosen(["0000:61:00.0"], [Card("", "0000:61:00.0", None)])
    with pytest.raises(Refused, match="since its driver is nouveau"):
        devices.chosen(["0000:61:00.0"], [Card("", "0000:61:00.0", None, "nouveau")])
    with pytest.raises(Refused, match=r"no driver; .* or name the others"):
        devices.chosen("all", [*CARDS, Card("", "0000:61:00.0", None, "")])


def test_every_reason_is_told_at_once() -> None:
    with pytest.raises(Refused) as error:
        devices.chosen(["0000:98:00.0", "0000:99:00.0"], CARDS)
    assert len(str(error.value).splitlines()) == 2


def test_all_are_those_that_no_vm_has() -> None:
    assert devices.chosen("all", [*CARDS, OF_A_VM]) == CARDS
    with pytest.raises(Refused, match="cannot pass all GPUs: the node has UUID not known at 0000"):
        devices.chosen("all", [OF_A_VM])
    with pytest.raises(Refused, match="the node has no NVIDIA GPU"):
        devices.chosen("all", [])


def test_a_gpu_comes_with_what_cuda_needs() -> None:
    assert devices.wanted([SECOND], NUMBERS) == (
        Device("/dev/nvidia1"),
        Device("/dev/nvidiactl"),
        Device("/dev/nvidia-uvm"),
        Device("/dev/nvidia-uvm-tools"),
    )


def test_capabilities_come_where_asked() -> None:
    found = devices.wanted([FIRST], NUMBERS, mode=0o660, gid=104, capabilities=True)
    assert [device.value for device in found[-2:]] == [
        "/dev/nvidia-caps/nvidia-cap1,gid=104,mode=0660",
        "/dev/nvidia-caps/nvidia-cap2,gid=104,mode=0660",
    ]


def test_a_missing_node_is_no_smaller_list() -> None:
    there = set(NUMBERS) - {"/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}
    with pytest.raises(Refused) as error:
        devices.wanted([FIRST], there)
    assert str(error.value) == (
        "cannot pass the GPUs: the node has no /dev/nvidia-uvm, /dev/nvidia-uvm-tools; "
        "stoker-gpu-nodes.service makes them: run deploy.py for the node too, without gpu_nodes: "
        "False in its node_settings, or look at "
        "journalctl -u stoker-gpu-nodes.service there"
    )


def test_no_gpu_needs_nothing() -> None:
    assert devices.wanted([], {}) == ()
