"""What turns the graphs of prefill off, by release: asked for, compiled, breakable.

Up to 0.5.9 they had to be asked for. To 0.5.14 torch.compile made them, and much stands in its way.
Since then they are recorded in pieces, of a few models still compiled up to 0.5.21.
"""

from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Question
from stoker.serving.memory import cards, releases, words
from stoker.serving.versions import feature_key


def on(question: Question) -> bool:
    """Whether prefill (piecewise) graphs are captured."""
    parsed, sglang = question.parsed, question.sglang
    if releases.has(sglang, "prefill_graphs_asked"):
        return words.on(parsed, "enable_piecewise_cuda_graph")
    asked = words.text(parsed, "cuda_graph_backend_prefill")
    if words.on(parsed, "enforce_piecewise_cuda_graph") or asked:
        return asked != "disabled"
    if words.on(parsed, "disable_piecewise_cuda_graph", "disable_prefill_cuda_graph"):
        return False
    model = question.model
    arch, multimodal = (model.arch, model.multimodal) if model else (None, False)
    if releases.lists(sglang, "multimodal_compiled_graphs", arch):
        return not _compiled_off(question)
    if releases.has(sglang, "prefill_graphs_breakable"):
        return not _breakable_off(question)
    return not (multimodal or _compiled_off(question))


_NOT_COMPILED_WITH = (
    "enable_dp_attention",
    "enable_torch_compile",
    "enable_symm_mem",
    "enable_deterministic_inference",
    "enable_eplb",
    "expert_distribution_recorder_mode",
    "debug_cuda_graph",
    "dllm_algorithm",
    "lora_paths",
    "enable_lora",
)


def _compiled_off(question: Question) -> bool:
    # torch.compile stands in the way of all of these: 0.5.10 to 0.5.14, and later of listed ones.
    parsed, model, sglang = question.parsed, question.model, question.sglang
    return (
        _elsewhere_off(question)
        or (words.whole(parsed, "pp_size") or 1) > 1
        or words.on(parsed, *_NOT_COMPILED_WITH)
        or _offloads_or_speculates(question)
        or words.text(parsed, "moe_a2a_backend", "none") != "none"
        or words.text(parsed, "disaggregation_mode", "null") != "null"
        or "gguf" in (words.text(parsed, "load_format"), words.text(parsed, "quantization"))
        or releases.lists(sglang, "no_prefill_graphs", model.arch if model else None)
    )


def _offloads_or_speculates(question: Question) -> bool:
    parsed, sglang = question.parsed, question.sglang
    offload = (words.real(parsed, "cpu_offload_gb") or 0) > 0
    offload = offload or words.on(parsed, "enable_hierarchical_cache")
    speculates = words.on(parsed, "speculative_algorithm")
    # Without decode graphs 0.5.14 has none for prefill either.
    alone = words.on(parsed, "disable_cuda_graph") and feature_key(sglang) >= feature_key("0.5.14")
    return (
        (offload and releases.has(sglang, "prefill_graphs_not_with_offload"))
        or (speculates and releases.has(sglang, "prefill_graphs_not_with_speculation"))
        or alone
    )


def _breakable_off(question: Question) -> bool:
    parsed, sglang = question.parsed, question.sglang
    overlap = words.on(parsed, "enable_two_batch_overlap")
    return (
        words.on(parsed, "disable_cuda_graph")
        or _elsewhere_off(question)
        or words.text(parsed, "disaggregation_mode") == "decode"
        or (overlap and releases.has(sglang, "prefill_graphs_not_with_overlap"))
        or _a2a_off(question)
        or (question.model is not None and _model_off(question.model, sglang))
    )


def _model_off(model: Model, sglang: str) -> bool:
    spared = model.index_head_dim is not None and releases.has(
        sglang, "prefill_graphs_of_sparse_mla"
    )
    mla = model.mla and not spared and releases.has(sglang, "prefill_graphs_not_with_mla")
    listed = releases.lists(sglang, "multimodal_prefill_graphs", model.arch)
    return mla or (model.multimodal and not listed) or "DeepseekV4" in (model.arch or "")


def _a2a_off(question: Question) -> bool:
    parsed = question.parsed
    backend = words.text(parsed, "moe_a2a_backend", "none")
    if releases.has(question.sglang, "prefill_graphs_few"):
        others = words.on(parsed, "enable_lora", "lora_paths", "enable_dp_attention")
        return others or backend != "none"
    return backend not in ("none", "deepep", "megamoe", "flashinfer")


def _elsewhere_off(question: Question) -> bool:
    parsed = question.parsed
    piped = (words.whole(parsed, "pp_size") or 1) > 1
    return (
        (piped and not releases.has(question.sglang, "prefill_graphs_with_pipeline"))
        or (words.whole(parsed, "attn_cp_size") or 1) > 1
        or cards.is_amd(question.gpus)
        or words.text(parsed, "device", "cuda") not in ("cuda", "")
    )
