"""What a model is, as far as memory and limits go; from its config.json, or given in a case."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """Every figure may be None: unknown."""

    arch: str | None = None
    """The first of config.json's `architectures`."""
    heads: int | None = None
    """Attention (query) heads."""
    kv_heads: int | None = None
    layers: int | None = None
    head_dim: int | None = None
    v_head_dim: int | None = None
    """None: the same as `head_dim`."""
    hidden: int | None = None
    vocabulary: int | None = None
    kv_dtype_bytes: float | None = None
    """Of a KV element where `--kv-cache-dtype` is auto."""
    max_position: int | None = None
    """The longest context the model was made for (with its rope scaling), tokens."""
    mla: bool = False
    kv_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    index_head_dim: int | None = None
    """Of a sparse attention's indexer (DSA); None: it has none."""
    hybrid_mamba: bool = False
    full_attention_layers: int | None = None
    """Layers with a KV cache where others keep a state instead."""
    state_slot_bytes: int | None = None
    """One request's state over all state layers of one rank at tp 1, bytes."""
    linear: "Linear | None" = None
    """Shape of the state layers, from which `state_slot_bytes` follows."""
    sliding_window: int | None = None
    """Some layers see only so many tokens: two pools, which are not predicted."""
    weights_gib: float | None = None
    """All tensors of its files, GiB, over all ranks."""
    multimodal: bool = False
    vision_layers: int | None = None
    """Of its vision part, from which SGLang lessens its default memory fraction; 0: it has none."""
    vision_hidden: int | None = None
    built_in_draft: bool = False
    """It has its own draft layers (MTP), so speculation needs no other model."""
    quantization: str | None = None


@dataclass(frozen=True)
class Linear:
    """State layers (gated delta net, mamba 2, lightning): how many and how large."""

    layers: int
    conv_elements: int
    """Of one layer and request over all ranks."""
    state_elements: int
    state_dtype_bytes: int = 4
    conv_dtype_bytes: int = 2
