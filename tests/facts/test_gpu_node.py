import json
from pathlib import Path
from typing import Any

from stoker.facts.gpu_node import GpuNode, RecoveryPlan, planned, seen
from stoker.recovery import bundle

RECORDED = Path(__file__).parent / "recorded" / "look.json"
STUCK = [
    '{"time": 1, "rung": "", "event": "start", "text": "", "run": "a"}',
    '{"time": 1, "rung": "", "event": "seen", "text": "CT 200 holds GPU-aa"}',
    '{"time": 2, "rung": "R1", "event": "would", "text": "systemctl stop sglang.service"}',
    '{"time": 2, "rung": "", "event": "end", "code": 0, "changed": true, "text": "recovered"}',
]


def looked() -> Any:
    return GpuNode().process(RECORDED.read_text().splitlines())


def test_a_look_is_plain_json_for_pyinfras_fact_command_and_our_types_for_us() -> None:
    assert json.loads(json.dumps(looked()))["node"] == "pve1"
    there = seen(looked())
    assert there and there.holders[0].owner.vmid == 200
    assert there.may_hold(there.holders[0]) == ("GPU-aa",)
    assert isinstance(there.gpus, tuple)


def test_what_a_newer_look_adds_is_no_error() -> None:
    assert seen({**looked(), "temperature": 80})


def test_without_a_look_nothing_is_made_of_it() -> None:
    assert seen(GpuNode.default()) is None


def test_a_look_has_a_deadline_and_needs_no_file_on_the_node() -> None:
    words = GpuNode().command(smi=False).get_raw_value()
    assert words == (f"timeout --kill-after=5 90 {bundle.command(['look', '--json', '--no-smi'])}")


def test_a_plan_runs_dry_and_a_finding_is_no_failure() -> None:
    words = RecoveryPlan().command(vmid=200, options=["--allow-restart"]).get_raw_value()
    assert words.endswith(" recover 200 --allow-restart --dry-run --json || true")


def test_a_plan_tells_its_lines_and_whether_it_would_change_anything() -> None:
    plan = planned(RecoveryPlan().process([*STUCK, "noise"]))
    assert (plan.code, plan.changes) == (0, True)
    assert [text.partition(" ")[2].strip() for text in plan.texts] == [
        "CT 200 holds GPU-aa",
        "R1  would: systemctl stop sglang.service",
        "recovered",
    ]
    clean = '{"time": 1, "rung": "", "event": "end", "code": 0, "changed": false, "text": "clean"}'
    assert planned(RecoveryPlan().process([clean])).changes is False


def test_a_plan_without_an_end_is_no_clean_one() -> None:
    assert planned([]).code is None
    assert planned([]).changes
