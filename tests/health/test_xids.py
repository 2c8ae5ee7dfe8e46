import random
import time
from pathlib import Path

import pytest

from stoker.health import kernel_log, recovery_actions, xids
from stoker.health.seen import Xid

LOG = (Path(__file__).parent / "recorded" / "kernel.log").read_text().splitlines()


def changed(text: str, number: int = 154) -> Xid:
    return Xid(0.0, "0000:01:00.0", number, None, "", f"GPU recovery action changed from {text}")


@pytest.mark.scenario("P13")
def test_every_form_of_an_xid_is_read() -> None:
    found = [(xid.bdf, xid.number, xid.pid, xid.process) for xid in xids.parse(LOG)]
    assert found == [
        ("0000:01:00.0", 13, 28001, "python3"),
        ("0000:11:00.0", 31, 28002, "sglang::schedul"),
        ("0000:21:00.0", 79, None, "<unknown>"),
        ("0000:21:00.0", 154, None, ""),
        ("0000:31:00.0", 94, 28003, "python3"),
        ("0000:31:00.0", 43, 28004, "python3"),
        ("0000:41:00.0", 119, None, ""),
        ("0000:51:00.0", 45, 28005, "python3"),
    ]


def test_an_xid_keeps_its_time_and_its_text() -> None:
    first = xids.parse(LOG)[0]
    assert first.time == 1796000100.1
    assert first.text.startswith("Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0)")


@pytest.mark.scenario("P18")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_a_time_is_the_same_in_every_time_zone(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert xids.parse(LOG)[0].time == 1796000100.1
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "\x00\xff\udcff",
        "1796000100.1 pve1 kernel: NVRM: Xid",
        "1796000100.1 pve1 kernel: NVRM: Xid (PCI:0000:01:00): , x",
        "1796000100.1 pve1 kernel: NVRM: Xid (PCI:0000:01): 79",
        "1796000100.1 pve1 kernel: x[NVRM: Xid (PCI:0000:01:00): 79]: segfault",
        "1796000100.1 pve1 python[1]: NVRM: Xid (PCI:0000:01:00): 79, a user's own words",
        "NVRM: Xid (PCI:0000:01:00): 79",
        "-- Boot 7d1c --",
    ],
)
@pytest.mark.scenario("P13")
def test_what_the_kernel_did_not_say_is_no_xid(line: str) -> None:
    assert xids.parse([line]) == []
    assert len(xids.parse([*LOG, line])) == 8


@pytest.mark.scenario("P14")
def test_only_the_number_of_a_154_decides() -> None:
    spoken = {
        "0x0 (None) to 0x1 (GPU Reset Required)": (1, "reset"),
        "0x0 (None) to 0x1 (PF FLR)": (1, "reset"),
        "0x0 (None) to 0x2 (Node Reboot Required)": (2, "reboot"),
        "0x1 (GPU Reset Required) to 0x0 (None)": (0, "info"),
        "0x0 (None) to 0x3 (Drain P2P)": (3, "human"),
        "0x0 (None) to 0x4 (Drain and Reset)": (4, "reset"),
        "0x0 (None) to 0x7 (x)": (7, "reboot"),
        "0x0 (None) to 0x9 (None)": (9, "human"),
    }
    told = {
        text: (xids.recovery_action(changed(text)), xids.ceiling(changed(text))) for text in spoken
    }
    assert told == spoken


def test_a_154_without_its_number_is_for_a_human() -> None:
    assert xids.recovery_action(changed("one to another")) is None
    assert xids.ceiling(changed("one to another")) == "human"


def test_the_words_of_another_xid_change_no_recovery_action() -> None:
    assert xids.recovery_action(changed("0x0 (None) to 0x1 (x)", number=13)) is None


@pytest.mark.parametrize(
    ("number", "ceiling"),
    [
        (13, "app"),
        (43, "app"),
        (45, "info"),
        (48, "reset"),
        (63, "info"),
        (64, "human"),
        (79, "reboot"),
        (109, "app"),
        (119, "reset"),
        (150, "human"),
        (170, "human"),
        (999, "human"),
    ],
)
def test_each_xid_has_its_ceiling(number: int, ceiling: str) -> None:
    assert xids.meaning(number).ceiling == ceiling


def test_the_driver_and_nvml_speak_of_the_same_actions() -> None:
    words = ["None", "Reset", "Reboot", "Drain P2P", "Drain and Reset"]
    assert [recovery_actions.number(word) for word in words] == [0, 1, 2, 3, 4]
    assert recovery_actions.number("Recover IMEX") is recovery_actions.number("") is None
    assert recovery_actions.ceiling(None) == recovery_actions.ceiling(99) == "human"
    assert "reboot the node" in recovery_actions.meaning(2)


@pytest.mark.scenario("P16")
def test_a_mismatch_names_the_client_and_both_versions() -> None:
    found = [(m.pid, m.process, m.client, m.module) for m in kernel_log.api_mismatches(LOG)]
    assert found == [
        (4713, "nvidia-smi", "580.142", "580.126.09"),
        (4714, "python, (pid 1)", "580.142", "580.126.09"),
        (None, "", "470.129.06", "470.103.01"),
    ]


def test_a_mismatch_cut_short_is_none_and_harms_no_later_one() -> None:
    assert kernel_log.api_mismatches(LOG[14:16]) == []
    assert len(kernel_log.api_mismatches(LOG[14:15] + LOG[19:])) == 2


def test_blocked_tasks_and_lockups_are_told() -> None:
    assert [(b.pid, b.task, b.seconds, b.lockup) for b in kernel_log.blocked(LOG)] == [
        (4711, "nvidia-smi", 120, False),
        (4712, "UVM GPU1 BH", 22, True),
    ]


def test_shuffled_and_torn_lines_are_survived() -> None:
    chance = random.Random(7)
    text = "\n".join(LOG)
    for _ in range(300):
        start, end = sorted(chance.randrange(len(text)) for _ in range(2))
        torn = (text[end:] + text[:start]).split("\n")
        chance.shuffle(torn)
        assert len(xids.parse(torn)) <= 9
        kernel_log.api_mismatches(torn)
        kernel_log.blocked(torn)


@pytest.mark.parametrize(
    "line",
    [
        "1.0 h kernel: NVRM: Xid (PCI:0000:01:00): 13, pid=" + "a " * 500_000,
        "1.0 h kernel: NVRM: Xid (PCI:0000:01:00): 13, name=" + "a" * 1_000_000,
        "1.0 h kernel: INFO: task " + ":1" * 500_000,
        "1.0 h kernel: NVRM: API mismatch: " + "the client '" * 100_000,
        "1" * 1_000_000,
    ],
)
def test_hostile_lines_are_read_in_linear_time(line: str) -> None:
    begun = time.monotonic()
    for read in (xids.parse, kernel_log.api_mismatches, kernel_log.blocked):
        read([line] * 10)
    assert time.monotonic() - begun < 0.5
