"""What is typed by hand, and what is told of runs that find nothing to do."""

from dataclasses import replace

from tests.bench import created, unchanged
from tests.bench.eight import Run
from tests.bench.unchanged import BEFORE, DECLARED, PLAIN, Unchanged

HOME = {"template": "local:vztmpl/debian-12.tar.zst", "storage": "local", "rootfs_gib": 16}
KEYS = {
    "arch": "amd64",
    "dev0": "/dev/nvidia1,mode=0666",
    "features": "nesting=1",
    "mp0": "/models,mp=/models,ro=1",
    "net0": "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:61:FD:C2,ip=dhcp,type=veth",
    "ostype": "debian",
    "rootfs": "local:201/vm-201-disk-0.raw,size=16G",
}


def test_by_hand_a_container_is_made_then_given_what_is_passed_to_it_then_started() -> None:
    assert created.typed(201, KEYS, HOME) == [
        "pct create 201 local:vztmpl/debian-12.tar.zst --storage=local --rootfs=local:16 "
        "--features=nesting=1 --net0=name=eth0,bridge=vmbr0,ip=dhcp",
        "pct set 201 --dev0=/dev/nvidia1,mode=0666 --mp0=/models,mp=/models,ro=1",
        "pct start 201",
    ]


def _round(declared: float, plain: float, before: float) -> dict[str, Run]:
    run = Run(0, own_s=1, processor_s=1, pct_starts=0, changed=0, commands=9)
    taken = {DECLARED: declared, PLAIN: plain, BEFORE: before}
    return {name: replace(run, seconds=seconds) for name, seconds in taken.items()}


def test_what_containers_add_to_a_run_is_the_difference_within_a_round() -> None:
    # A round that everything was slow in says as much as the others.
    rounds = [_round(4.5, 4.2, 4.0), _round(9.6, 9.4, 9.0), _round(4.9, 4.1, 4.0)]
    adds, data, look = Unchanged(rounds, look_ms=18).aims
    assert (adds.found, adds.met) == ("0.60 s", True)
    assert data.found == "0.3 s"
    assert look.met
    assert not Unchanged([_round(5.1, 4, 4)], look_ms=31).aims[0].met
    assert unchanged.Unchanged(rounds, look_ms=18).table.lines[0][1] == "4.9"
