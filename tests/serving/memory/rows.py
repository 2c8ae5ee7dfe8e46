"""Rows of memory.tsv as questions: what a start was given, and what SGLang logged of it."""

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.checking.model import Linear, Model
from stoker.serving.checking.question import Gpus, Question
from stoker.serving.memory.logged import Logged

# First days of releases, for rows that give only a date.
_RELEASED = (
    ("2026-04-01", "0.5.10.post1"),
    ("2026-05-16", "0.5.12"),
    ("2026-06-10", "0.5.13"),
    ("2026-06-25", "0.5.14"),
    ("2026-07-20", "0.5.16"),
    ("2026-08-20", "0.5.18"),
    ("2026-09-20", "0.5.21"),
    ("2026-10-30", "0.5.23"),
)

_OPEN = "sgl-project/sglang#18263"
"""A pull request's own log: what it does is in no release."""


@dataclass(frozen=True)
class Row:
    """One start."""

    cells: dict[str, str]
    question: Question
    logged: Logged | None
    """What it had before and after the weights; None: the row does not say."""

    def number(self, column: str) -> float | None:
        """A column as a number; None where it has none."""
        return _number(self.cells.get(column, "-"))

    @property
    def judged(self) -> bool:
        """Whether tokens are to be predicted: not for rows of an unknown fraction."""
        return self.cells["kind"] in ("exact-inputs", "assumed-default")


def read(path: Path) -> list[Row]:
    """Every row of the file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [_row(cells) for cells in csv.DictReader(file, delimiter="\t")]


def _row(cells: dict[str, str]) -> Row:
    facts = json.loads(cells["facts"]) if cells["facts"].startswith("{") else {}
    tp = int(_number(cells["tp"]) or 1)
    values = _values(cells, tp)
    attention = max(1, tp // values.get("dp_size", 1))
    question = Question(
        name=cells["id"],
        sglang="main" if _OPEN in cells["source"] else release(cells["sglang_version"]),
        words=(),
        env={"SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION": "1"} if _resolved(cells) else {},
        parsed=Parsed(values, frozenset(values)),
        catalogue=None,
        gpus=Gpus(kind=cells["gpu"], sm=None, count=int(_number(cells["gpu_count"]) or 1)),
        model=_model(cells, facts, attention, tp),
    )
    return Row(cells, question, logged_of(cells))


def release(told: str) -> str:
    """The release that a row names or that its date stands for; of several the newest."""
    named = re.findall(r"0\.[45]\.\d+(?:\.post\d+)?", told)
    if named:
        return str(named[-1])
    date = re.search(r"20\d\d(-\d\d)?(-\d\d)?", told)
    on = date[0] if date else "2026"
    return next((version for day, version in reversed(_RELEASED) if day <= on), "0.5.9")


def _resolved(cells: dict[str, str]) -> bool:
    # A fraction that SGLang logged is what it uses; one of the command line it may still change.
    return cells["mem_fraction_source"] in ("log", "server_args")


def _values(cells: dict[str, str], tp: int) -> dict[str, Any]:
    text = f"{cells['flags']}; {cells['notes']}".lower()
    values: dict[str, Any] = {"tp_size": tp}
    patterns = {
        "chunked_prefill_size": r"chunked(?:-prefill(?:-size)?)? (\d+)",
        "max_total_tokens": r"max-total-tokens (\d+)",
        "max_running_requests": r"max-running(?:-requests)? (\d+)",
        "max_mamba_cache_size": r"max-mamba-cache-size (\d+)",
        "cuda_graph_max_bs": r"graph bs (?:up )?(?:to )?(\d+)",
    }
    for dest, pattern in patterns.items():
        if found := re.search(pattern, text):
            values[dest] = int(found[1])
    if found := re.search(r"\bdp(\d+)", cells["pp_dp_ep"]):
        values |= {"dp_size": int(found[1]), "enable_dp_attention": True}
    if found := re.search(r"\bpp(\d+)", cells["pp_dp_ep"]):
        values["pp_size"] = int(found[1])
    values |= _switches(text) | _columns(cells) | _speculation(cells["flags"].lower())
    return values


def _switches(text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if "extra_buffer" in text:
        values["mamba_scheduler_strategy"] = "extra_buffer"
    if "radix off" in text or "disable-radix" in text:
        values["disable_radix_cache"] = True
    if re.search(r"no cuda graph|disable-cuda-graph|graphs off", text):
        values["disable_cuda_graph"] = True
    if "aiter" in text:
        values["attention_backend"] = "aiter"
    return values


def _speculation(text: str) -> dict[str, Any]:
    found = re.search(r"\b(eagle3?|standalone|dflash|nextn)\b", text)
    if found is None:
        return {}
    tokens = re.search(r"draft[- ]tokens (\d+)", text)
    return {
        "speculative_algorithm": found[1].upper(),
        "speculative_num_draft_tokens": int(tokens[1]) if tokens else None,
    }


def _columns(cells: dict[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for column, dest in (
        ("mem_fraction", "mem_fraction_static"),
        ("context_len", "context_length"),
        ("page_size", "page_size"),
    ):
        number = _number(cells[column])
        if number is not None:
            values[dest] = number if column == "mem_fraction" else int(number)
    if cells["kv_dtype"] not in ("-", "bf16", "auto"):
        values["kv_cache_dtype"] = cells["kv_dtype"]
    elif cells["kv_dtype"] == "bf16":
        values["kv_cache_dtype"] = "bfloat16"
    return values


_SHAPE = ("kv_heads", "head_dim", "v_head_dim", "kv_lora_rank", "qk_rope_head_dim")


def _model(cells: dict[str, str], facts: dict[str, Any], attention: int, tp: int) -> Model:
    hybrid, slot = cells["arch"] == "hybrid", _number(cells["state_slot_bytes"])
    weights = _number(cells["weight_mem_gb"])
    full = facts.get("full_attention_layers", facts.get("mla_layers"))
    return Model(
        arch=cells["model"],
        heads=facts.get("q_heads"),
        layers=facts.get("layers", full),
        **{name: facts.get(name) for name in _SHAPE},
        kv_dtype_bytes=2,
        mla="kv_lora_rank" in facts,
        index_head_dim=facts.get("index_head_dim") if facts.get("dsa") else None,
        hybrid_mamba=hybrid,
        full_attention_layers=full if hybrid else None,
        state_slot_bytes=None if slot is None else int(slot) * attention,
        linear=_linear(facts) if slot is None else None,
        weights_gib=weights and weights * tp,
        sliding_window=_window(facts),
    )


def _window(facts: dict[str, Any]) -> int | None:
    return 1 if any("swa" in name or "sliding" in name for name in facts) else None


def _linear(facts: dict[str, Any]) -> Linear | None:
    names = ("linear_layers", "linear_v_heads", "linear_head_dim")
    if not all(name in facts for name in names):
        return None
    layers, heads, dim = (facts[name] for name in names)
    return Linear(layers=layers, conv_elements=3 * 2 * heads * dim, state_elements=heads * dim**2)


def logged_of(cells: dict[str, str]) -> Logged | None:
    """Free memory before and after the weights as the row gives it."""
    before, after = (_number(cells[f"avail_{when}_load_gb"]) for when in ("before", "after"))
    if before is not None and after is not None:
        return Logged(before_gib=before, after_gib=after)
    # A failed start that tells what was missing at two fractions tells both.
    rests = re.search(r"rest (-?[\d.]+) at ([\d.]+) and (-?[\d.]+) at ([\d.]+)", cells["notes"])
    if rests is None:
        return None
    rest, fraction, other, lower = (float(part) for part in rests.groups())
    before = (rest - other) / (fraction - lower)
    return Logged(before_gib=before, after_gib=rest + before * (1 - fraction))


def _number(text: str) -> float | None:
    found = re.match(r"-?\d+(?:\.\d+)?", text.strip())
    return float(found[0]) if found else None
