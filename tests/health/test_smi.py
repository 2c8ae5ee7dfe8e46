from dataclasses import replace
from pathlib import Path

import pytest

from stoker.health import bdf, smi, smi_messages
from stoker.health.smi_document import Garbled

RECORDED = Path(__file__).parent / "recorded"
EIGHT = (RECORDED / "smi-580-eight.xml").read_text()
SHARED, PARTITIONED, LOST = smi.parse((RECORDED / "smi-595.xml").read_text()).gpus


def with_value(tag: str, value: str) -> smi.SmiGpu:
    """The first of the eight GPUs, with another value in its tag `tag`."""
    before, after = EIGHT.split(f"<{tag}>", 1)
    return smi.parse(f"{before}<{tag}>{value}</{after.split('</', 1)[1]}").gpus[0]


@pytest.mark.scenario("P1")
def test_eight_gpus_are_told_by_uuid_address_and_memory() -> None:
    report = smi.parse(EIGHT)
    assert report.driver_version == "580.126.09"
    assert len({gpu.uuid for gpu in report.gpus}) == len(report.gpus) == 8
    first = report.gpus[0]
    assert (first.bdf, first.total_mib, first.reserved_mib, first.used_mib) == (
        "0000:01:00.0",
        97887,
        638,
        91780,
    )
    assert first.processes == (smi.SmiProcess(28000, "C", "sglang::scheduler_TP0", 91776),)
    assert (first.persistence, first.mig, first.recovery_action) == (True, False, "None")


@pytest.mark.scenario("P8")
def test_the_index_is_the_place_in_the_document_and_not_the_minor() -> None:
    gpus = smi.parse(EIGHT).gpus
    assert [gpu.index for gpu in gpus] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [gpu.minor for gpu in gpus] == [0, 1, 3, 2, 4, 5, 7, 6]


PLACEHOLDERS = [
    "N/A",
    "[N/A]",
    "[Not Supported]",
    "[Insufficient Permissions]",
    "[Unknown Error]",
    "[GPU is lost]",
    "[GPU requires reset]",
    "ERR!",
    "Requested functionality has been deprecated",
    "",
    "-1 MiB",
    "many MiB",
]
NUMBERS = {
    "minor_number": "minor",
    "total": "total_mib",
    "reserved": "reserved_mib",
    "used": "used_mib",
    "gpu_util": "utilization_pct",
    "used_memory": "processes",
}


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
@pytest.mark.parametrize("tag", NUMBERS)
@pytest.mark.scenario("P2")
def test_a_placeholder_is_none_and_never_zero(tag: str, placeholder: str) -> None:
    value = getattr(with_value(tag, placeholder), NUMBERS[tag])
    assert value[0].used_mib is None if tag == "used_memory" else value is None


@pytest.mark.scenario("P9")
def test_a_gpu_that_is_gone_moves_the_indexes_of_the_others_and_nothing_else() -> None:
    all_eight = smi.parse(EIGHT).gpus
    before, middle, after = EIGHT.split("</gpu>", 2)
    left = smi.parse(f"{before}</gpu>{after}").gpus
    assert middle.count("<gpu ") == 1
    assert [gpu.index for gpu in left] == [0, 1, 2, 3, 4, 5, 6]
    kept = [replace(gpu, index=index) for index, gpu in enumerate((all_eight[0], *all_eight[2:]))]
    assert list(left) == kept


@pytest.mark.parametrize("token", ["GPU is lost", "[GPU is lost]", "GPU requires reset"])
@pytest.mark.parametrize("tag", ["persistence_mode", "used", "performance_state"])
def test_a_lost_gpu_is_told_whichever_field_says_so(tag: str, token: str) -> None:
    assert with_value(tag, token).error == token.strip("[]")


def test_an_odd_token_is_an_error_where_every_gpu_has_a_value() -> None:
    assert with_value("used", "[Unknown Error]").error == "Unknown Error"
    assert with_value("gpu_util", "[Unknown Error]").error == ""
    assert with_value("used", "N/A").error == ""


def test_a_process_that_calls_itself_lost_harms_no_gpu() -> None:
    assert with_value("process_name", "GPU is lost").error == ""


@pytest.mark.scenario("P3")
def test_process_names_come_through_whole() -> None:
    named = {
        process.pid: (process.type, process.name, process.used_mib) for process in SHARED.processes
    }
    assert named == {
        4101: ("C", '/opt/venv/bin/python, the "big" one', 40960),
        4102: ("G", "/usr/lib/xorg/Xorg", 23),
        4103: ("M+C", "two\nlines", None),
        4104: ("C+G", "процесс-é <b> & R&D", 512),
        4105: ("C", "", 1024),
    }


@pytest.mark.parametrize(
    "name", ["a <b> c", "</process", "\x01\x1b[2J", "\udcff\ufffe", "&amp", "&#1;", "]]>", "<gpu>"]
)
@pytest.mark.scenario("P3")
def test_no_process_name_makes_the_rest_unreadable(name: str) -> None:
    assert with_value("process_name", "NAME").processes[0].name == "NAME"
    gpus = smi.parse(EIGHT.replace("sglang::scheduler_TP0", name)).gpus
    assert [len(gpu.processes) for gpu in gpus] == [1, 1, 1, 1, 0, 0, 0, 0]


@pytest.mark.scenario("P17")
def test_a_partitioned_gpu_is_not_its_partitions() -> None:
    assert (PARTITIONED.mig, PARTITIONED.used_mib, PARTITIONED.total_mib) == (True, None, 97887)


def test_a_gpu_that_fell_off_keeps_its_name_and_loses_its_numbers() -> None:
    assert (LOST.error, LOST.used_mib, LOST.persistence, LOST.recovery_action) == (
        "GPU is lost",
        None,
        None,
        None,
    )
    assert LOST.uuid.startswith("GPU-")


@pytest.mark.scenario("P4", "P12")
def test_a_550_has_no_recovery_action_unless_its_older_fields_say_yes() -> None:
    gpus = smi.parse((RECORDED / "smi-550.xml").read_text()).gpus
    assert [gpu.recovery_action for gpu in gpus] == [None, "Reset", "Drain and Reset"]
    assert [gpu.persistence for gpu in gpus] == [True, True, False]


@pytest.mark.scenario("P12")
def test_a_595_says_its_recovery_action_in_its_own_words() -> None:
    assert SHARED.recovery_action == "Drain and Reset"
    assert with_value("gpu_recovery_action", "Recover IMEX").recovery_action == "Recover IMEX"


@pytest.mark.scenario("P6")
def test_a_document_cut_anywhere_is_garbled_and_never_half_a_report() -> None:
    for length in range(0, EIGHT.rindex("</nvidia_smi_log>"), 97):
        with pytest.raises(Garbled):
            smi.parse(EIGHT[:length])


def test_text_before_the_document_is_skipped() -> None:
    assert len(smi.parse("Unable to determine the device handle\n" + EIGHT).gpus) == 8


def test_entities_are_not_expanded() -> None:
    with pytest.raises(Garbled, match="entities"):
        smi.parse(
            '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log></nvidia_smi_log>'
        )


@pytest.mark.scenario("P7")
def test_every_spelling_of_an_address_is_one() -> None:
    spelt = ["00000000:0A:00.0", "0000:0a:00.0", "0000:0A:00", "0a:00.0", "00000000:0a:00", "0A:00"]
    assert {bdf.normal(text) for text in spelt} == {"0000:0a:00.0"}
    assert bdf.normal("00010000:01:00.1") == "10000:01:00.1"
    with pytest.raises(ValueError, match="'GPU-1' is none"):
        bdf.normal("GPU-1")


COULD_NOT = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
    "the latest NVIDIA driver is installed and running."
)
NO_LIBRARY = (
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the "
    "NVIDIA Display Driver is properly installed and present in your system."
)
MISMATCH = (
    "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.126"
)
HANDLE = "Unable to determine the device handle for GPU0000:C1:00.0: "
MESSAGES = [
    (9, COULD_NOT, "not-loaded"),
    (12, NO_LIBRARY, "no-library"),
    (18, MISMATCH, "mismatch"),
    (255, MISMATCH.split("\n")[0], "mismatch"),
    (255, "Failed to initialize NVML: Unknown Error", "denied"),
    (4, "Failed to initialize NVML: Insufficient Permissions", "denied"),
    (6, "No devices were found", "no-devices"),
    (6, "No devices were found. Please make sure /dev/nvidia* files are readable.", "no-devices"),
    (255, HANDLE + "Unknown Error", "lost"),
    (15, HANDLE + "GPU is lost.  Reboot the system to recover this GPU", "lost"),
    (255, HANDLE + "GPU requires reset", "lost"),
    (15, "", "lost"),
    (16, "", "lost"),
    (17, "", "denied"),
    (124, "", "hung"),
    (137, "", "hung"),
    (127, "sh: 1: nvidia-smi: not found", "missing"),
    (2, 'Field "x" is not a valid field to query.', "unknown"),
    (231, "", "unknown"),
    pytest.param(0, "", "garbled", marks=pytest.mark.scenario("P10")),
    (0, EIGHT[:4000], "garbled"),
    (0, EIGHT, "ok"),
    (0, "<?xml version='1.0'?><nvidia_smi_log></nvidia_smi_log>", "no-devices"),
]


@pytest.mark.parametrize(("code", "said", "state"), MESSAGES)
@pytest.mark.parametrize("case", [str, str.upper])
@pytest.mark.scenario("P5", "P11")
def test_every_message_means_the_same_on_either_stream(
    code: int, said: str, state: str, case: object
) -> None:
    spoken = said if "<" in said else case(said)  # type: ignore[operator]
    assert smi.outcome(code, spoken, "", 0.2).state == state
    if "<" not in said:
        assert smi.outcome(code, "", spoken, 0.2).state == state


def test_what_did_not_end_in_time_hung_whatever_it_said() -> None:
    told = smi.outcome(None, EIGHT, "", 20.0)
    assert (told.state, told.code, told.seconds) == ("hung", None, 20.0)


def test_a_lost_gpu_beside_a_whole_document_is_still_told() -> None:
    told = smi.outcome(0, HANDLE + "Unknown Error\n" + EIGHT, "", 0.2)
    assert (told.state, told.text) == ("lost", HANDLE + "Unknown Error")


def test_which_gpu_was_lost_is_told_by_its_address() -> None:
    said = f"{HANDLE}GPU is lost.  Reboot the system to recover this GPU\n"
    other = "Unable to determine the device handle for GPU1: 00000000:21:00.0: Unknown Error"
    assert smi_messages.lost(said + other) == {
        "0000:c1:00.0": "GPU is lost.  Reboot the system to recover this GPU",
        "0000:21:00.0": "Unknown Error",
    }


def test_hostile_text_is_read_in_linear_time() -> None:
    smi.outcome(1, "GPU is " * 200_000, "nvidia-smi" * 100_000, 0.1)
    with pytest.raises(Garbled):
        smi.parse("<nvidia_smi_log>" + "<process_name>" * 500 + "</nvidia_smi_log>")
