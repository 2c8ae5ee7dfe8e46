"""Questions for tests, from words of a command line and facts in the form of a case."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Gpus, Host, OtherServer, Question
from stoker.serving.memory import check

RTX_PRO_6000 = Gpus(kind="rtx-pro-6000-96g", sm=120, count=8, memory_mib=97887, free_gib=94.5)
KIMI = Model(
    arch="KimiK25ForConditionalGeneration",
    heads=64,
    layers=61,
    kv_dtype_bytes=2,
    max_position=262144,
    mla=True,
    kv_lora_rank=512,
    qk_rope_head_dim=64,
    weights_gib=576.0,
    multimodal=True,
)
"""Kimi-K2.5 as the operators served it: about 72 GiB on each of eight GPUs."""
SMALL = Model(
    arch="LlamaForCausalLM",
    heads=32,
    kv_heads=8,
    layers=36,
    head_dim=128,
    kv_dtype_bytes=2,
    max_position=131072,
    weights_gib=8.2,
)


def asked(flags: str | Sequence[str] = "", sglang: str = "0.5.12", **facts: Any) -> Question:
    """A question on eight RTX PRO 6000 and a small model, unless told otherwise."""
    words = flags.split() if isinstance(flags, str) else [str(word) for word in flags]
    values = parse(words)
    known: dict[str, Any] = {
        "gpus": RTX_PRO_6000,
        "model": SMALL,
        "host": Host(ram_gb=512, mem_available_gb=449),
        "env": {},
    }
    return Question(
        name="asked",
        sglang=sglang,
        words=tuple(words),
        parsed=Parsed(values, frozenset(values)),
        catalogue=None,
        **{**known, **facts},
    )


def parse(words: Sequence[str]) -> dict[str, Any]:
    """dest -> value, as argparse would have it for plain options."""
    values: dict[str, Any] = {}
    for at, word in enumerate(words):
        if not word.startswith("--"):
            continue
        name, _, value = word[2:].partition("=")
        follows = at + 1 < len(words) and not words[at + 1].startswith("--")
        name = {"tp": "tp-size", "dp": "dp-size"}.get(name, name).replace("-", "_")
        values[name] = value or (_typed(words[at + 1]) if follows else True)
    return values


def of_case(path: Path) -> Question:
    """The question that a case file asks."""
    case: Mapping[str, Any] = yaml.safe_load(path.read_text())
    gpu, model = case.get("gpu") or {}, case.get("model") or {}
    known = {name: value for name, value in model.items() if name in Model.__dataclass_fields__}
    return asked(
        case["flags"],
        case["sglang"],
        env=case.get("env") or {},
        gpus=Gpus(**{k: v for k, v in gpu.items() if k in Gpus.__dataclass_fields__}),
        host=Host(**(case.get("host") or {})),
        model=Model(**known),
        others=tuple(
            OtherServer(name=str(other["name"]), host_gb=other.get("host_gb"))
            for other in case.get("other_servers") or []
        ),
    )


def reasons(question: Question) -> dict[str, str]:
    """name -> severity of what is wrong."""
    return {reason.name: reason.severity for reason in check(question)[0]}


def _typed(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
