from dataclasses import replace

import pytest

from stoker.health import report, xids
from stoker.health.remarks import remarks
from stoker.health.retained import Retained, retained
from stoker.health.seen import Completeness, Owner, Seen, Smi, Stuck, Xid
from stoker.health.wording import age, shown
from tests.health.looks import HOST, NOW, container, gpu, holder, look

UNKILLABLE = Stuck("unkillable", "nvidia", "os_acquire_rwlock_write")
LEAKED = (gpu(0, used_mib=91780), gpu(1))


def lines(seen: Seen) -> list[str]:
    return report.table(seen, NOW).splitlines()


def xid(number: int, ago: float, text: str = "", pid: int | None = None) -> Xid:
    return Xid(NOW - ago, "0000:01:00.0", number, pid, "python3", text)


def test_a_sound_node_reads_at_a_glance() -> None:
    assert report.table(look(), NOW) == (
        "pve1: driver 580.126.09 (open modules), nvidia-smi ok in 0.4 s\n"
        "GPU  ADDRESS       USED/TOTAL MiB  PID    WHO                    SINCE       "
        "WHERE                        STATE\n"
        "0    0000:01:00.0  91780/97887     28001  sglang::scheduler_TP0  3 h 12 min  "
        "CT 200 infer sglang.service  sleeping\n"
        "1    0000:11:00.0  2/97887         -                                         "
        "                             free\n"
        "The scan of processes was complete (0.12 s).\n"
    )


def test_a_gpu_with_two_holders_is_named_once() -> None:
    rows = lines(look(holders=(holder(28001, 0, 1), holder(28002, 0))))
    assert [row.split()[0] for row in rows[2:5]] == ["0", "28002", "1"]


def test_who_has_only_a_control_node_open_may_hold_any() -> None:
    seen = look(holders=(holder(7, owner=HOST, command="", name="nvidia-smi"),))
    (row,) = [row for row in lines(seen) if row.startswith("any")]
    assert row.split("  ")[-1].strip() == "sleeping, may hold it"
    assert "[nvidia-smi]" in row and "host exporter.service" in row


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "free"),
        ({"used_mib": 91780}, "STUCK MEMORY"),
        ({"used_mib": None}, "memory unknown"),
        ({"error": "GPU is lost"}, "GPU IS LOST"),
        ({"off_bus": True, "error": "GPU is lost"}, "LOST"),
        ({"binding": "vfio-pci"}, "with vfio-pci"),
        ({"binding": ""}, "without a driver"),
    ],
)
def test_a_gpu_without_a_holder_says_how_it_is(changes: dict[str, object], state: str) -> None:
    seen = look(gpus=(gpu(0, **changes),), holders=())
    assert lines(seen)[2].endswith(f"  {state}")


def test_no_line_is_wider_than_a_terminal_whatever_a_process_is_called() -> None:
    wild = holder(4_194_304, 0, command="x\n\x1b[2J" * 200, owner=replace(HOST, unit="u" * 400))
    trouble = container(200, 0, name="n" * 300, problems=("p " * 400,))
    seen = look(
        holders=(wild,),
        containers=(trouble,),
        completeness=Completeness(False, ("pid 1: " + "w" * 400,) * 30, tuple(range(40)), 9.5),
        xids=tuple(xid(n, 5, "t" * 500, pid=4) for n in range(60)),
    )
    told = lines(seen)
    assert max(map(len, told)) <= report.WIDTH
    assert all(line.isprintable() for line in told)
    assert len(told) < 90


def test_memory_that_nobody_holds_is_retained() -> None:
    assert retained(look()) == ()
    assert retained(look(holders=())) == (Retained("GPU-0", 91522, ()),)


def test_memory_of_a_process_that_cannot_end_is_retained() -> None:
    seen = look(holders=(holder(28001, 0, stuck=UNKILLABLE), holder(28002, 0)))
    assert retained(seen) == (Retained("GPU-0", 91522, (28001,)),)
    waiting = holder(28001, 0, stuck=Stuck("waiting", "other", ""))
    assert retained(look(holders=(waiting,))) == ()


def test_a_control_node_alone_may_hold_memory_of_its_own_container_s_gpus() -> None:
    assert retained(look(holders=(holder(28001),))) == ()
    elsewhere = holder(1, owner=Owner("ct", 201, "", "/lxc/201/ns"))
    seen = look(containers=(container(200, 0), container(201, 1)), holders=(elsewhere,))
    assert [one.uuid for one in retained(seen)] == ["GPU-0"]


def test_a_service_that_only_watches_holds_no_memory() -> None:
    watcher = holder(7, 0, 1, owner=HOST, devices=("nvidia0", "nvidia1", "nvidiactl"))
    assert retained(look(holders=(watcher,))) == (Retained("GPU-0", 91522, ()),)
    assert retained(look(holders=(replace(watcher, devices=("nvidia0", "nvidia-uvm")),))) == ()


def test_unknown_memory_is_not_called_retained() -> None:
    assert retained(look(gpus=(gpu(0, used_mib=None),), holders=())) == ()


def test_a_sound_node_needs_one_sentence() -> None:
    assert remarks(look(), NOW) == ("The scan of processes was complete (0.12 s).",)


def test_stuck_memory_is_said_with_its_holders() -> None:
    assert remarks(look(holders=()), NOW)[0] == (
        "GPU 0 (0000:01:00.0): 91522 MiB are used above its baseline, and nobody holds it"
    )
    seen = look(holders=(holder(28001, 0, stuck=UNKILLABLE),))
    assert remarks(seen, NOW)[0].endswith("held by 28001, which cannot end")


@pytest.mark.parametrize("state", ["hung", "mismatch", "not-loaded", "lost", "garbled", "odd"])
def test_a_driver_that_does_not_answer_comes_first(state: str) -> None:
    driver = replace(look().driver, smi=Smi(state, 9, "what it said", 0.1))
    assert remarks(look(driver=driver, holders=()), NOW)[0].startswith("nvidia-smi: ")
    assert "(what it said)" in remarks(look(driver=driver), NOW)[0]


def test_a_driver_that_waits_for_a_reload_is_told() -> None:
    driver = replace(look().driver, installed="580.142")
    assert "580.126.09 is loaded and 580.142 is installed" in remarks(look(driver=driver), NOW)[0]


def test_a_gpu_s_own_wish_is_put_in_words() -> None:
    seen = look(gpus=(gpu(0, recovery_action="Reboot"), gpu(1, recovery_action="Dance")))
    assert remarks(seen, NOW)[:2] == (
        "GPU 0 (0000:01:00.0): the driver asks for Reboot: the operating system may be "
        "inconsistent: reboot the node",
        "GPU 1 (0000:11:00.0): the driver asks for Dance: unknown to us; see NVIDIA's documents "
        "of this driver",
    )


def test_xids_are_told_once_each_with_the_last_first() -> None:
    seen = look(xids=(xid(13, 7200, pid=28001), xid(79, 90), xid(13, 30, pid=28001)))
    assert remarks(seen, NOW)[:2] == (
        "0000:01:00.0: Xid 13, 2 times, the last 30 s ago: graphics engine exception (an "
        "application's fault) (process 28001 python3); the program ends; at most its container is "
        "restarted",
        "0000:01:00.0: Xid 79, 1 min 30 s ago: GPU has fallen off the bus; the node needs a reboot",
    )


def test_an_incomplete_scan_cannot_be_overlooked() -> None:
    seen = look(completeness=Completeness(False, ("pid 1: permission denied",), (7, 9), 0.2))
    assert remarks(seen, NOW) == (
        "not seen: pid 1: permission denied",
        "not seen: the mappings of 7, 9, which did not answer in time",
        "The scan of processes was INCOMPLETE: there may be holders that are not listed (0.20 s).",
    )


def test_a_frozen_container_and_its_problems_are_told() -> None:
    seen = look(containers=(container(200, 0, state="frozen", problems=("dev0: is gone",)),))
    assert remarks(seen, NOW)[:2] == (
        "CT 200 is frozen; nothing enters it until it is thawed",
        "CT 200: dev0: is gone",
    )


def test_ages_have_two_units() -> None:
    told = [age(s) for s in (-5, 0, 59.9, 61, 3600, 11_520, 90_061)]
    assert told == ["0 s", "0 s", "59 s", "1 min 1 s", "1 h 0 min", "3 h 12 min", "1 d 1 h"]


def test_text_is_cut_and_cleaned() -> None:
    assert shown("a\tb\x1b", 10) == "a\N{MIDDLE DOT}b\N{MIDDLE DOT}"
    assert shown("abcdefgh", 6) == "abc..."


def test_every_ceiling_has_its_words() -> None:
    for number in range(200):
        assert remarks(look(xids=(xid(number, 1),)), NOW)
        assert xids.meaning(number).ceiling
