"""Questions for the tests: a server as a case would describe it, without a recorded parser."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stoker.serving.checking.question import Question
from stoker.serving.rules import examples
from stoker.serving.rules.rule import Example

SM120 = {"kind": "rtx-pro-6000-96g", "sm": 120, "count": 8}
LLAMA = {"arch": "LlamaForCausalLM", "heads": 64, "kv_heads": 8, "max_position": 131072}


def question(
    flags: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    sglang: str = "0.5.12",
    gpu: Mapping[str, Any] = SM120,
    model: Mapping[str, Any] = LLAMA,
    host: Mapping[str, Any] | None = None,
    **more: Any,
) -> Question:
    """`more`: any other field of a question."""
    example = Example(sglang, flags or {}, env or {}, gpu, model, host or {})
    return replace(examples.question(example), **more)
