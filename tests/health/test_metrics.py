import re
from dataclasses import replace

from stoker.health import exposition, metrics
from stoker.health.exposition import Family, Sample
from stoker.health.seen import Completeness, Seen, Smi, Xid
from tests.health.looks import HOST, NOW, container, gpu, holder, look

LINE = re.compile(r'[a-z_]+(?:\{(?:[a-z]+="(?:[^"\\\n]|\\[\\n"])*",?)+\})? -?\d+(?:\.\d+)?')


def samples(seen: Seen) -> dict[str, float]:
    """Value by name and labels."""
    lines = [line for line in metrics.text(seen).splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


FIRST = '{uuid="GPU-0",bdf="0000:01:00.0"}'


def test_memory_is_told_in_bytes() -> None:
    told = samples(look())
    assert told[f"stoker_gpu_memory_used_bytes{FIRST}"] == 91780 * 1024 * 1024
    assert told[f"stoker_gpu_memory_baseline_bytes{FIRST}"] == 258 * 1024 * 1024
    assert told[f"stoker_gpu_stuck_bytes{FIRST}"] == 0


def test_stuck_memory_is_what_is_above_the_baseline() -> None:
    told = samples(look(holders=()))
    assert told[f"stoker_gpu_stuck_bytes{FIRST}"] == (91780 - 258) * 1024 * 1024


def test_what_is_not_known_has_no_sample() -> None:
    told = samples(look(gpus=(gpu(0, used_mib=None, recovery_action=None),)))
    assert not [name for name in told if "used" in name or "stuck_b" in name or "action" in name]


def test_recovery_actions_are_numbers_and_an_unknown_word_is_below_zero() -> None:
    words = ["None", "Reset", "Reboot", "Drain P2P", "Drain and Reset", "Dance"]
    seen = look(gpus=tuple(gpu(n, recovery_action=word) for n, word in enumerate(words)))
    told = [v for name, v in samples(seen).items() if name.startswith("stoker_gpu_recovery")]
    assert told == [0, 1, 2, 3, 4, -1]


def test_holders_are_counted_by_container_and_kind() -> None:
    seen = look(holders=(holder(1, 0), holder(2, 0), holder(3, owner=HOST)))
    told = samples(seen)
    assert told['stoker_gpu_holders{vmid="200",kind="ct"}'] == 2
    assert told['stoker_gpu_holders{vmid="",kind="host"}'] == 1
    assert told["stoker_gpu_stuck_holders"] == 0


def test_xids_are_counted_since_boot() -> None:
    seen = look(xids=tuple(Xid(NOW, "0000:01:00.0", n, None, "", "") for n in (13, 79, 13)))
    told = samples(seen)
    assert told['stoker_gpu_xids_total{bdf="0000:01:00.0",xid="13"}'] == 2
    assert told['stoker_gpu_xids_total{bdf="0000:01:00.0",xid="79"}'] == 1
    assert "# TYPE stoker_gpu_xids_total counter" in metrics.text(seen)


def test_the_scan_tells_when_how_long_and_whether_all() -> None:
    told = samples(look(completeness=Completeness(False, ("x",), (), 0.25)))
    assert told["stoker_scan_complete"] == 0
    assert told["stoker_scan_seconds"] == 0.25
    assert told["stoker_scan_timestamp_seconds"] == NOW


def test_the_driver_tells_its_versions() -> None:
    driver = replace(look().driver, smi=Smi("hung", None, "", 20.0), installed='5"8\\0\n')
    told = metrics.text(look(driver=driver))
    assert 'stoker_driver_info{version="580.126.09",installed="5\\"8\\\\0\\n",smi="hung"} 1' in told


def test_the_same_look_gives_the_same_bytes_in_whatever_order_it_was_made() -> None:
    one = look(holders=(holder(1, 0), holder(2, 0, owner=HOST)))
    other = replace(one, holders=one.holders[::-1], gpus=one.gpus[::-1])
    assert metrics.text(one) == metrics.text(other)


def test_every_line_is_one_that_the_exporter_reads() -> None:
    seen = look(
        gpus=(gpu(0, uuid='a"b\\c\nd\x1be', off_bus=True), gpu(1)),
        containers=(container(200, 0, problems=("x", "y")),),
    )
    told = metrics.text(seen)
    families = re.findall(r"^# HELP (\S+)", told, re.M)
    assert len(set(families)) == len(families) >= 12
    assert re.findall(r"^# TYPE (\S+)", told, re.M) == families
    for line in told.splitlines():
        assert line.startswith("# ") or LINE.fullmatch(line), line


def test_a_family_without_samples_is_left_out() -> None:
    families = [Family("a", "A.", ()), Family("b", "B.", (Sample(1e12), Sample(0.5, (("l", ""),))))]
    assert exposition.text(families) == (
        '# HELP b B.\n# TYPE b gauge\nb 1000000000000\nb{l=""} 0.5\n'
    )
