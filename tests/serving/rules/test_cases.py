"""The shared preflight cases: what the known-bad rows and the fitting say of each."""

import csv
import os
from pathlib import Path

import pytest

from stoker.serving import document, fitting, rules
from stoker.serving.checking import case
from stoker.serving.checking.reading import Reading

ROOT = Path(__file__).parents[3]
PLACES = (os.environ.get("STOKER_SHARED", ""), str(ROOT.parent / "shared"))
CASES = next((Path(p) / "cases" for p in PLACES if p and (Path(p) / "cases").is_dir()), None)
OURS = {
    "nccl_algo": "refuse",
    "expandable_segments": "warn",
    "tp_heads": "refuse",
    "tp_exceeds_gpus": "refuse",
    "port_clash": "refuse",
    "context_too_long": "refuse",
    "mamba_on_non_mamba": "refuse",
    "parser_tokenizer_mismatch": "refuse",
}
pytestmark = pytest.mark.skipif(
    CASES is None, reason="NOT TESTED: no ../shared/cases beside the checkout (or STOKER_SHARED)"
)


def rows() -> list[dict[str, str]]:
    """The table's rows; none where there is no shared folder."""
    if CASES is None:
        return []
    return list(csv.DictReader((CASES / "cases.tsv").open(), delimiter="\t"))


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['id']}-{row['reason_class']}")
def test_a_case_is_refused_or_warned_of_for_its_own_reason_and_no_other(
    row: dict[str, str],
) -> None:
    assert CASES is not None
    texts, _ = document.read_texts((CASES / "cases" / f"{row['id']}.yaml").read_text())
    question = case.asked(row["id"], texts, Reading([]))
    verdict = rules.check(question, rules.load())
    found = {
        reason.name: reason.severity for reason in (*verdict.reasons, *fitting.check(question))
    }
    name = row["reason_class"]
    assert found == ({name: OURS[name]} if name in OURS else {})
    assert verdict.notes == ()
