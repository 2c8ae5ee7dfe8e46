"""config.json -> `Model`, the way SGLang derives each figure (configs/model_config.py, 0.5.12 and
0.5.23). What a config does not say stays None: an unknown architecture gives what is there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stoker.serving.checking.model import Model
from stoker.serving.weights import rows, states

Config = Mapping[str, Any]

_INNER = ("llm_config", "language_config", "text_config")
_OWN_DRAFT = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")
_KV_HEADS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num")
_VISION = {"kimi_k25": (27, 1152)}
"""Layers and width of vision parts whose config class of SGLang's own has defaults."""
_POSITIONS = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length")


@dataclass(frozen=True)
class Held:
    """What the headers of a complete set of weight files say."""

    size_bytes: int
    deepest: int | None
    """The highest number of a layer among the tensors' names."""
    own_draft: bool
    """Some tensors are named after a draft layer (`mtp.*`)."""


def whole(config: Config, *keys: str) -> int | None:
    """The first of these keys that holds a whole number."""
    for key in keys:
        if type(value := config.get(key)) is int:
            return value
    return None


def text_of(config: Config) -> Config:
    """The language model's part of a config; the config itself where it has none."""
    thinker = config.get("thinker_config")
    if isinstance(thinker, dict):
        inner = thinker.get("text_config")
        return inner if isinstance(inner, dict) else thinker
    return next((config[key] for key in _INNER if isinstance(config.get(key), dict)), config)


def model(config: Config, held: Held | None = None, quant: object = None) -> Model:
    """The model of this config.json, of its files' headers and its hf_quant_config.json."""
    text, arch = text_of(config), architecture(config)
    kv = whole(text, "kv_lora_rank") if text.get("use_mla") is not False else None
    state = states.of(config, text)
    method, kv_fp8 = _quantization(config, text, quant)
    vision_layers, vision_hidden = _vision(config)
    return Model(
        arch=arch,
        heads=whole(text, "num_attention_heads", "n_head"),
        kv_heads=_kv_heads(text, arch),
        layers=_layers(text, arch),
        head_dim=_head_dim(text),
        v_head_dim=whole(text, "v_head_dim") or None,
        hidden=whole(text, "hidden_size", "n_embd"),
        vocabulary=whole(text, "vocab_size"),
        kv_dtype_bytes=1 if kv_fp8 else 2,
        max_position=_max_position(text),
        mla=kv is not None,
        kv_lora_rank=kv,
        qk_rope_head_dim=whole(text, "qk_rope_head_dim"),
        index_head_dim=whole(text, "index_head_dim") if text.get("index_topk") else None,
        hybrid_mamba=state is not None,
        full_attention_layers=state.full_layers if state else None,
        state_slot_bytes=state.slot_bytes if state else None,
        linear=state.linear if state else None,
        sliding_window=_window(text, arch),
        weights_gib=held.size_bytes / 2**30 if held else None,
        multimodal=_multimodal(config, text, arch),
        vision_layers=vision_layers,
        vision_hidden=vision_hidden,
        built_in_draft=_built_in_draft(text, arch, held),
        quantization=method,
    )


def architecture(config: Config) -> str | None:
    """The first of `architectures`."""
    named = config.get("architectures")
    return str(named[0]) if isinstance(named, list) and named else None


def _kv_heads(text: Config, arch: str | None) -> int | None:
    if arch == "DeciLMForCausalLM":  # it differs by layer
        return None
    if text.get("multi_query") is True:
        return 1
    given = whole(text, *_KV_HEADS, "num_attention_groups")
    if given is None and text.get("model_type") in rows.named("all_heads"):
        return whole(text, "num_attention_heads", "n_head")
    return given


def _layers(text: Config, arch: str | None) -> int | None:
    pattern = text.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        return len(pattern)
    layers = whole(text, "num_hidden_layers", "num_layers", "n_layer")
    passes = rows.valued("kv_passes").get(str(arch), 1)
    times = whole(text, passes) or 1 if isinstance(passes, str) else passes
    return None if layers is None else layers * times


def _head_dim(text: Config) -> int | None:
    if given := whole(text, "head_dim", "attention_head_dim"):
        return given
    default = rows.valued("head_dim").get(str(text.get("model_type")))
    if "head_dim" not in text and default:
        return int(default)
    hidden, heads = whole(text, "hidden_size"), whole(text, "num_attention_heads")
    return hidden // heads if hidden and heads else None


def _max_position(text: Config) -> int | None:
    """Stretched by the scaling's factor, unless the config says what it was stretched from: then
    its own figure is already the stretched one (get_context_length)."""
    scaling = text.get("rope_scaling") or text.get("rope_parameters")
    scaling = scaling if isinstance(scaling, dict) else {}
    factor = scaling.get("factor", 1)
    if "original_max_position_embeddings" in scaling or scaling.get("rope_type") == "llama3":
        factor = 1
    positions = whole(text, *_POSITIONS, "max_position_embeddings")
    if positions is None or isinstance(factor, bool) or not isinstance(factor, int | float):
        return positions
    return int(factor * positions)


def _window(text: Config, arch: str | None) -> int | None:
    if arch not in rows.named("two_pools") and text.get("is_hybrid_swa") is not True:
        return None
    return whole(text, "sliding_window", "sliding_window_size", "attention_chunk_size") or None


def _multimodal(config: Config, text: Config, arch: str | None) -> bool:
    other = text is not config or "vision_config" in config or "audio_config" in config
    return other and arch not in rows.named("text_only")


def _vision(config: Config) -> tuple[int, int]:
    """(layers, width) of the vision part as adjust_mem_fraction_for_vlm reads them, which takes
    24 and 1024 where they have other names (Qwen's `depth`); no layers: there is none."""
    vision = config.get("vision_config")
    if not isinstance(vision, dict):
        return 0, 0
    layers, width = _VISION.get(str(config.get("model_type")), (24, 1024))
    return (
        whole(vision, "num_hidden_layers", "vt_num_hidden_layers") or layers,
        whole(vision, "hidden_size", "vt_hidden_size") or width,
    )


def _built_in_draft(text: Config, arch: str | None, held: Held | None) -> bool:
    """By the tensors where they are known: many quantised copies leave the draft layer out."""
    layers = whole(text, "num_hidden_layers")
    if held and held.deepest is not None and layers is not None:
        return held.own_draft or held.deepest >= layers
    declared = any((whole(text, key) or 0) > 0 for key in _OWN_DRAFT)
    return declared or arch in rows.named("own_draft")


def _quantization(config: Config, text: Config, quant: object) -> tuple[str | None, bool]:
    """SGLang's name of the method, and whether it makes the KV cache FP8 by itself."""
    given = config.get("quantization_config") or text.get("quantization_config")
    given = given or config.get("compression_config")
    if not isinstance(given, dict):
        given = quant.get("quantization") if isinstance(quant, dict) else None
    if not isinstance(given, dict):
        return None, False
    method, algorithm = given.get("quant_method"), str(given.get("quant_algo", ""))
    if method not in (None, "modelopt"):
        return str(method).lower(), False
    scheme = given.get("kv_cache_scheme")
    by_scheme = isinstance(scheme, dict) and scheme.get("num_bits") == 8
    fp8 = by_scheme or str(given.get("kv_cache_quant_algo", "")).upper() == "FP8"
    kind = next((kind for kind in ("FP4", "FP8") if kind in algorithm), None)
    return (f"modelopt_{kind.lower()}" if kind else method), fp8
