"""What a row can ask about: the facts of a question, by the names that rows use."""

from dataclasses import dataclass, fields
from typing import Any

from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Question

GPU = frozenset({"kind", "sm", "count"})
HOST = frozenset({"unprivileged"})
MODEL = frozenset(field.name for field in fields(Model)) - {"linear"}
ALONE = ("tp", "ranks", "attention", "quantization")
"""Worked out of several flags: `tp-size`; all ranks of one engine; the attention backends that are
asked for, of prefill and decode; the quantisation that is asked for, else the model's."""
MAY_BE_UNKNOWN = ("gpu.", "model.", "host.", "quantization")
"""What a note is made of when a row hangs on it; software that nobody looked at makes none."""


@dataclass(frozen=True)
class Subject:
    """One fact."""

    value: Any = None
    """None: it is absent. A tuple: any of them will do."""
    given: bool = False
    """The command line names it."""
    known: bool = True
    """False: nobody looked, which is neither absent nor present."""


def of(question: Question, name: str) -> Subject:
    """The subject of that name, `flags.tp-size`, `env.NCCL_ALGO`, `gpu.sm`, `tp` ..."""
    section, _, key = name.partition(".")
    if section == "flags":
        dest = _dest(question, key)
        return Subject(question.parsed.values.get(dest), dest in question.parsed.given)
    if section == "env":
        return Subject(question.env.get(key), key in question.env)
    if section == "gpu":
        return _known(getattr(question.gpus, key))
    if section == "host":
        # Proxmox makes unprivileged containers unless it is told not to.
        return Subject(question.host.unprivileged is not False)
    if section == "software":
        return _known(question.software.get(key))
    if section == "model":
        return Subject(known=False) if not question.model else _of_model(question.model, key)
    return _alone(question, section)


def _dest(question: Question, name: str) -> str:
    """Where the parser puts an option's value: `--fp8-gemm-backend` goes elsewhere than most."""
    dest = name.replace("-", "_")
    if dest in question.parsed.values or not question.catalogue:
        return dest
    return next((o.dest for o in question.catalogue.options if f"--{name}" in o.names), dest)


def _known(value: Any) -> Subject:
    return Subject(value, known=value is not None)


def _of_model(model: Model, key: str) -> Subject:
    value = getattr(model, key)
    # A model without these is one that has none; of the others None says that nobody knows.
    absent = key in ("quantization", "index_head_dim", "kv_lora_rank", "sliding_window")
    return Subject(value, known=value is not None or absent)


def _alone(question: Question, name: str) -> Subject:
    get = question.parsed.get
    if name == "tp":
        return Subject(get("tp_size", 1))
    if name == "ranks":
        return Subject(get("tp_size", 1) * get("pp_size", 1))
    if name == "attention":
        both = get("attention_backend")
        asked = (get(f"{phase}_attention_backend", both) for phase in ("prefill", "decode"))
        backends = tuple(dict.fromkeys(backend for backend in asked if backend))
        return Subject(backends, given=bool(backends))
    if asked_for := get("quantization"):
        return Subject(asked_for)
    return of(question, "model.quantization")
