"""The default fraction, against what SGLang's own functions answered, release by release."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Gpus
from stoker.serving.memory.reserve import default_fraction
from stoker.serving.memory.settings import resolve
from tests.serving.memory.asked import asked

ANSWERS = json.loads((Path(__file__).parent / "data" / "defaults.json").read_text())["answers"]


@pytest.mark.parametrize("sglang", sorted({answer[0] for answer in ANSWERS}))
def test_the_default_is_what_sglang_answers(sglang: str) -> None:
    wrong = [
        (answer, ours)
        for answer in ANSWERS
        if answer[0] == sglang and (ours := _ours(*answer[:4])) != pytest.approx(answer[4])
    ]
    assert wrong == []


def _ours(sglang: str, memory_mib: int, arch: str, flags: dict[str, Any]) -> float | None:
    sees = arch.endswith("Generation")
    model = Model(
        arch=arch,
        mla=arch.startswith(("Deepseek", "Kimi", "Glm")),
        multimodal=sees,
        index_head_dim=128 if arch in ("DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM") else None,
        vision_layers=27 if sees else None,
        vision_hidden=1152 if sees else None,
    )
    question = asked("", sglang, model=model, gpus=Gpus(memory_mib=memory_mib))
    question = replace(question, parsed=Parsed(flags, frozenset(flags)))
    return default_fraction(resolve(question), model)
