"""INC5 as it was typed, and the way out of it that the refusal names."""

import json
from pathlib import Path

import pytest

from stoker.serving.checking import written
from stoker.serving.checking.reason import Verdict
from stoker.serving.inside import rename_draft
from stoker.serving.weights.directory import Directory
from tests.serving.weights import given as make
from tests.serving.weights.given import looked

FLAGSET = """\
name: kimi
sglang: {sglang}
model: {{path: {root}/Kimi-K2.5}}
placement: {{layout: cpu}}
port: 30000
flags:
  speculative-algorithm: EAGLE3
  speculative-eagle-topk: 1
  speculative-num-steps: 15
  speculative-num-draft-tokens: 16
  speculative-draft-model-path: {draft}
"""


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    make.model(tmp_path / "Kimi-K2.5")
    where = tmp_path / "eagle3" / "output_100k_sglang" / "4"
    return make.draft(where, make.draft_shapes("layers.0."))


def told(text: str) -> Verdict:
    def look(path: str) -> Directory | None:
        return looked(Path(path)) if Path(path).is_dir() else None

    return written.verdict("kimi", text, look=look)


def mismatches(verdict: Verdict) -> list[str]:
    return [one.message for one in verdict.reasons if one.name == "draft_mismatch"]


def test_a_draft_as_it_was_trained_is_refused_and_its_renamed_copy_is_not(
    tmp_path: Path, trained: Path
) -> None:
    text = FLAGSET.format(sglang="0.5.9", root=tmp_path, draft=trained)
    (message,) = mismatches(told(text))
    assert message.startswith(f"10 of the 16 tensors of {trained} are named layers.0.*")
    copy = tmp_path / "eagle3" / "renamed"
    text = FLAGSET.format(sglang="0.5.9", root=tmp_path, draft=copy)
    text += f"draft: {{renamed_from: {json.dumps(str(trained))}}}\n"
    # Judged as it will be, before it is there.
    assert mismatches(told(text)) == []
    assert rename_draft.main(trained, copy, act=True)["error"] is None
    assert mismatches(told(text)) == []


def test_from_0_5_12_the_draft_is_taken_as_it_was_trained(tmp_path: Path, trained: Path) -> None:
    text = FLAGSET.format(sglang="0.5.12", root=tmp_path, draft=trained)
    assert mismatches(told(text)) == []
