from stoker.serving import rules
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
