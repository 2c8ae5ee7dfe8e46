"""Weights on one GPU from the size of the model's files, and where that tells nothing."""

from stoker.serving.checking.question import Question
from stoker.serving.memory import releases, words
from stoker.serving.memory.settings import Settings

_MOVED = {
    "cpu_offload_gb": "part of the weights stays in host memory (--cpu-offload-gb)",
    "offload_group_size": "layers are moved to host memory and back (--offload-group-size)",
    "kt_weight_path": "experts stay in host memory (ktransformers)",
    "torchao_config": "the weights are quantised while they are loaded (--torchao-config)",
    "ep_num_redundant_experts": "experts are kept twice (--ep-num-redundant-experts)",
    "encoder_only": "only the encoder is loaded (--encoder-only)",
    "language_only": "only the language part is loaded (--language-only)",
    "enable_lora": "adapters take memory of their own (--enable-lora)",
    "lora_paths": "adapters take memory of their own (--lora-paths)",
}
_WHILE_LOADING = ("fp8", "mxfp4", "bitsandbytes", "w8a8_int8", "w8a8_fp8", "qoq", "blockwise_int8")


def weights_gib(question: Question, settings: Settings) -> float | str:
    """GiB of weights on one rank, a draft's with them where it is loaded first; or why not told.

    The files are taken to be split evenly over tensor and pipeline ranks. What is replicated
    (norms, MLA's small projections, attention under data-parallel attention) makes it more.
    """
    model = question.model
    if model is None or model.weights_gib is None:
        return "the size of the model's weights is not known"
    for dest, why in _MOVED.items():
        value = question.parsed.values.get(dest)
        if words.on(question.parsed, dest) and value not in (-1, "-1", 0.0):
            return why
    asked = words.text(question.parsed, "quantization")
    if asked in _WHILE_LOADING and not model.quantization:
        return f"whether --quantization {asked} makes the weights smaller is not known"
    share = model.weights_gib / (settings.tp * settings.pp)
    return share + _draft(question, settings)


def draft_gib(question: Question, settings: Settings) -> float:
    """GiB of a separate draft model's weights on one rank; 0: none, or its size is not known."""
    draft = question.draft.model if question.draft else None
    if not settings.speculation or draft is None or draft.weights_gib is None:
        return 0.0
    return draft.weights_gib / settings.tp


def draft_unknown(question: Question, settings: Settings) -> bool:
    """Whether a separate draft model is loaded whose weights nobody has looked at."""
    separate = settings.speculation and words.on(question.parsed, "speculative_draft_model_path")
    return bool(separate) and draft_gib(question, settings) == 0.0


def _draft(question: Question, settings: Settings) -> float:
    before = releases.has(settings.sglang, "draft_loaded_before_pool")
    return draft_gib(question, settings) if before else 0.0
