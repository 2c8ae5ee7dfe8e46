import pytest

from stoker.container import opened
from stoker.container.opened import Opened
from tests.container.cards import CARDS, NUMBERS

UVM = "/dev/nvidia-uvm"


def device(path: str = UVM, number: tuple[int, int] = (511, 0), **said: str) -> Opened:
    return Opened(path, "device", number, said.pop("rights", "666 root:root"), **said)


def problem(one: Opened, brought: bool = True) -> str:
    (sentence,) = opened.problems(200, "sglang", [one], NUMBERS, NUMBERS if brought else ())
    return sentence


def test_the_nodes_are_those_of_the_gpus_and_what_cuda_opens() -> None:
    assert opened.paths(CARDS) == (
        *("/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"),
        *("/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"),
    )
    assert opened.paths(()) == ()


def test_a_node_that_both_can_open_is_no_problem() -> None:
    assert opened.problems(200, "sglang", [device()], NUMBERS, NUMBERS) == ()


def test_a_missing_node() -> None:
    assert problem(Opened(UVM)) == (
        "cannot use /dev/nvidia-uvm in CT 200: it is not there; say allow_restart: True, or "
        "restart the container: pct reboot 200"
    )


@pytest.mark.parametrize(
    "one", [Opened(UVM), Opened(UVM, "file"), device(number=(508, 0))], ids=lambda one: one.kind
)
def test_what_a_restart_does_not_bring_is_told_so(one: Opened) -> None:
    assert problem(one, brought=False).endswith(
        "; a restart does not bring it as things are; look at what passes it, pct config 200, and "
        "at ls -l /dev/nvidia* on the node"
    )
    assert opened.by_restart([one], NUMBERS, NUMBERS) == (UVM,)
    assert opened.by_restart([one], NUMBERS, ["/dev/nvidia0"]) == ()


def test_a_file_in_place_of_a_device() -> None:
    assert problem(Opened(UVM, "file")) == (
        "cannot use /dev/nvidia-uvm in CT 200: a regular file is in place of the device, which an "
        "optional raw mount leaves where the node had no device as the container started; say "
        "migrate_raw: True if it has one; say allow_restart: True, or restart the container: pct "
        "reboot 200"
    )


def test_a_number_of_an_earlier_load() -> None:
    assert problem(device(number=(508, 0))) == (
        "cannot use /dev/nvidia-uvm in CT 200: it has the number of an earlier load of the driver "
        "(508, today it is 511); say allow_restart: True, or restart the container: pct reboot 200"
    )


def test_a_number_that_differs_in_its_minor_alone() -> None:
    assert "(511:7, today it is 511:0)" in problem(device(number=(511, 7)))


def test_what_a_restart_brings_right_is_told_if_nothing_else_is_wrong() -> None:
    stale = device(number=(508, 0))
    assert opened.by_restart([stale, Opened("/dev/nvidia0", "file")], NUMBERS, NUMBERS) == (
        UVM,
        "/dev/nvidia0",
    )
    denied = device("/dev/nvidiactl", (195, 255), root="Operation not permitted", user="x")
    assert opened.by_restart([stale, denied], NUMBERS, NUMBERS) == ()
    assert opened.by_restart([device()], NUMBERS, NUMBERS) == ()


def test_a_mode_that_lets_only_root_in() -> None:
    assert problem(device(rights="660 root:root", user="Permission denied")) == (
        "cannot use /dev/nvidia-uvm in CT 200: the user sglang may not open it (Permission "
        'denied), it is 660 root:root; say device_mode: "0666", or device_gid with a group of that '
        "user"
    )


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("Operation not permitted", "device rules do not allow it"),
        ("No such device or address", "the driver has nothing behind it (No such device or addr"),
        ("No such device", "the driver has nothing behind it (No such device); see nvidia-smi"),
        ("Input/output error", "the driver cannot start the GPU (Input/output error); see dmesg"),
        (opened.HUNG, "opening it does not end, the driver hangs; recover it from the node"),
        (opened.NO_USER, "there is no user sglang; run deploy.py for all of the container"),
        ("Device or resource busy", "root cannot open it (Device or resource busy); see dmesg"),
    ],
)
def test_each_refusal_says_what_it_is_and_what_to_do(said: str, sentence: str) -> None:
    assert sentence in problem(device(root=said, user=said))


def test_what_only_the_user_cannot_is_told_of_the_user() -> None:
    assert "the user sglang cannot open it (Operation not permitted)" in problem(
        device(user="Operation not permitted")
    )


def test_paths_with_one_cause_are_one_sentence() -> None:
    found = [Opened(path) for path in opened.paths(CARDS)]
    (sentence,) = opened.problems(200, "sglang", found, NUMBERS, NUMBERS)
    assert sentence.startswith(
        "cannot use /dev/nvidia0, /dev/nvidia1, /dev/nvidiactl, /dev/nvidia-"
    )
