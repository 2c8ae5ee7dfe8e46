"""Rows of the operators' own: what is right is taken, what is wrong is named by file and key."""

from pathlib import Path

import pytest

from stoker.refused import Refused
from stoker.serving import rules
from tests.serving.rules.asked import question

ROW = """
- id: ours
  class: nccl_hang
  severity: refuse
  when:
    tp: {over: 1}
    gpu: {sm: 120}
    env: {NCCL_P2P_LEVEL: [SYS, NODE]}
  because: NCCL_P2P_LEVEL={NCCL_P2P_LEVEL} hangs on our boards
  do: use PHB
  source: seen on pve1, 2026-11-28
  recheck: 2027-03-01
  fires: {flags: {tp-size: 2}, env: {NCCL_P2P_LEVEL: SYS}, gpu: {sm: 120}}
  silent: {flags: {tp-size: 2}, env: {NCCL_P2P_LEVEL: PHB}, gpu: {sm: 120}}
"""


def load(tmp_path: Path, text: str) -> tuple[rules.Rule, ...]:
    file = tmp_path / "known_bad.yaml"
    file.write_text(text)
    return rules.load(file)


def test_a_row_of_theirs_counts_beside_ours(tmp_path: Path) -> None:
    found = load(tmp_path, ROW)
    assert len(found) == len(rules.load()) + 1
    verdict = rules.check(question({"tp-size": 2}, {"NCCL_P2P_LEVEL": "SYS"}), found)
    assert [r.message for r in verdict.reasons] == ["NCCL_P2P_LEVEL=SYS hangs on our boards"]


def test_a_row_of_theirs_replaces_ours_of_the_same_id(tmp_path: Path) -> None:
    text = ROW.replace("id: ours", "id: nccl-algo-no-all-gather")
    found = load(tmp_path, text)
    assert len(found) == len(rules.load())
    assert rules.check(question({"tp-size": 2}, {"NCCL_ALGO": "Tree"}), found).reasons == ()


def test_no_file_and_an_empty_file_have_no_rows(tmp_path: Path) -> None:
    assert rules.load(tmp_path / "none.yaml") == rules.load() == load(tmp_path, "# nothing\n")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("severity: refuse", "severity: deny", "ours.severity: is 'deny', neither warn nor refuse"),
        ("  do: use PHB\n", "", "ours.do: is missing"),
        ("source: seen", "sources: seen", "ours.sources: unknown key; meant source?"),
        ("gpu: {sm: 120}\n    env", "gpus: {}\n    env", "when.gpus: unknown key; meant gpu?"),
        ("gpu: {sm: 120}\n    env", "gpu: {cont: 2}\n    env", "cont: unknown key; meant count?"),
        ("tp: {over: 1}", "tp: {above: 1}", "ours.when.tp.above: unknown key"),
        ("tp: {over: 1}", "tp: {over: one}", "ours.when.tp.over: 'one' is no number"),
        ("tp: {over: 1}", "sglang: '=>0.5'", "ours.when.sglang: '=>0.5' is no range"),
        ("[SYS, NODE]", "{matches: '('}", "ours.when.env.NCCL_P2P_LEVEL.matches: is no regular"),
        ("[SYS, NODE]", "{algorithms: {collective: All, only: [star]}}", "star is no algorithm"),
        ("recheck: 2027-03-01", "recheck: soon", "ours.recheck: is no day such as 2027-06-01"),
        ("  recheck: 2027-03-01\n", "", "ours.recheck: is missing; a row that speaks of versions"),
        ("NCCL_P2P_LEVEL: SYS}", "NCCL_P2P_LEVEL: PHB}", "ours.fires: the row does not fire on it"),
        ("NCCL_P2P_LEVEL: PHB}", "NCCL_P2P_LEVEL: NODE}", "ours.silent: the row fires on it"),
        ("{NCCL_P2P_LEVEL} hangs", "{level} hangs", "ours.because: {level} stands for no value"),
        ("id: ours", "id: Ours!", "Ours!.id: is no name such as"),
        ("class: nccl_hang", "class: nccl hang", "ours.class: is no name such as nccl_algo"),
        ("- id: ours", "- id: ours\n  id: other", "id: is there twice"),
        (ROW, ROW + ROW, "ours: is the id of two rows"),
        (ROW, "rows: []", "holds no list of rows"),
        (ROW, "- row", "row 1: is no row"),
        (ROW, "- [", "is not YAML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_file_and_key(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    assert old in ROW
    with pytest.raises(Refused) as refused:
        load(tmp_path, ROW.replace(old, new, 1))
    assert problem in str(refused.value)
    assert "known_bad.yaml" in str(refused.value)


def test_a_row_of_versions_that_no_longer_change_owes_no_day(tmp_path: Path) -> None:
    text = ROW.replace("  recheck: 2027-03-01\n", "").replace("tp:", "sglang: '<0.5.13'\n    tp:")
    assert load(tmp_path, text)[-1].recheck is None


def test_the_row_that_the_documentation_shows_is_right(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "checks.md").read_text()
    row = load(tmp_path, "- id:" + page.split("```yaml\n- id:")[1].split("```")[0])[-1]
    assert (row.id, row.severity) == ("p2p-level-sys-here", "refuse")
