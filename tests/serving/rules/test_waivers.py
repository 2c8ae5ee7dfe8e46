from stoker.serving import rules
from stoker.serving.checking import written
from tests.serving.rules.asked import question

TREE = question({"tp-size": 2}, {"NCCL_ALGO": "Tree"})


def test_a_waived_row_is_a_note_with_its_reason_in_every_run() -> None:
    verdict = rules.check(TREE, rules.load(), {"nccl-algo-no-all-gather": "tested on pve1"})
    assert verdict.reasons == ()
    assert verdict.notes[0].startswith("waived nccl-algo-no-all-gather: tested on pve1 (it says: ")


def test_a_waiver_of_a_row_that_does_not_fire_is_silent() -> None:
    silent = question({"tp-size": 1})
    assert rules.check(silent, rules.load(), {"nccl-algo-no-all-gather": "x"}).notes == ()


def test_a_waiver_of_no_row_is_refused_with_the_nearest() -> None:
    verdict = rules.check(question(), rules.load(), {"nccl-algo-no-allgather": "tested"})
    assert verdict.word == "refuse"
    assert verdict.reasons[0].name == "waiver_unknown"
    assert verdict.reasons[0].hint == "meant nccl-algo-no-all-gather?"


def test_a_flag_sets_own_waivers_count_in_its_check() -> None:
    text = """\
name: tiny
sglang: 0.5.12
model: {path: /models/tiny}
placement: {layout: tensor-parallel, gpus: [0, 1]}
port: 30000
env: {NCCL_ALGO: Tree}
"""
    rows = rules.load()
    refused = written.verdict("tiny", text, rows=rows)
    assert "nccl-algo-no-all-gather" in [reason.rule for reason in refused.reasons]
    waived = f"{text}waivers: {{nccl-algo-no-all-gather: tested on pve1}}\n"
    verdict = written.verdict("tiny", waived, rows=rows)
    assert "nccl_algo" not in [reason.name for reason in verdict.reasons]
    assert any("tested on pve1" in note for note in verdict.notes)
    unknown = written.verdict("tiny", f"{text}waivers: {{nccl-algo: tested}}\n", rows=rows)
    assert "waiver_unknown" in [reason.name for reason in unknown.reasons]
