"""Layers that keep a state in place of a KV cache: how many, how large (SGLang's mamba_utils)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stoker.serving.checking.model import Linear

Config = Mapping[str, Any]

FULL = frozenset({"full_attention", "attention", "attn", "swa", "*"})
STATE = frozenset({"linear_attention", "mamba", "conv", "short_conv", "jet", "M"})
DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class State:
    """The state layers of a hybrid model."""

    full_layers: int
    """Layers that have a KV cache."""
    linear: Linear

    @property
    def slot_bytes(self) -> int:
        """One request's state over all layers and ranks, bytes."""
        one = self.linear
        conv = one.conv_elements * one.conv_dtype_bytes
        return (conv + one.state_elements * one.state_dtype_bytes) * one.layers


def of(config: Config, text: Config) -> State | None:
    """None: every layer has a KV cache, or the config does not say enough."""
    names = config.get("architectures")
    arch = str(names[0]) if isinstance(names, list) and names else ""
    for derive in _FAMILIES:
        try:
            found = derive(text, arch)
        except (KeyError, TypeError, ValueError, ZeroDivisionError):  # a figure is not there
            continue
        if found and found[1] > 0:
            full, layers, conv, state = found
            return State(full, Linear(layers, conv, state, _dtype_bytes(config, text)))
    return None


Shape = tuple[int, int, int, int]
"""Full-attention layers, state layers, elements of the convolution and of the state of one."""


def _dtype_bytes(config: Config, text: Config) -> int:
    name = text.get("mamba_ssm_dtype") or config.get("mamba_ssm_dtype")
    return DTYPE_BYTES.get(str(name), 4)


def _kinds(text: Config) -> tuple[int, int]:
    """How many layers of each kind the config lists."""
    kinds = (
        text.get("hybrid_override_pattern")
        or text.get("layers_block_type")
        or text.get("layer_types")
        or ()
    )
    return sum(kind in FULL for kind in kinds), sum(kind in STATE for kind in kinds)


def _every(text: Config, group: int) -> tuple[int, int]:
    layers = text["num_hidden_layers"]
    return layers // group, layers - layers // group


def _gated_delta(text: Config, arch: str) -> Shape | None:
    """Qwen3-Next, Qwen3.5 and 3.6: keys, queries and values pass the convolution."""
    if "linear_num_value_heads" not in text:
        return None
    counts = _kinds(text)
    full, layers = counts if any(counts) else _every(text, text.get("full_attention_interval", 4))
    keys = text["linear_num_key_heads"] * text["linear_key_head_dim"]
    values = text["linear_num_value_heads"] * text["linear_value_head_dim"]
    conv = (values + 2 * keys) * (text["linear_conv_kernel_dim"] - 1)
    return full, layers, conv, values * text["linear_key_head_dim"]


def _delta(full: int, layers: int, heads: int, width: int, kernel: int) -> Shape:
    return full, layers, 3 * heads * width * (kernel - 1), heads * width * width


def _kimi_delta(text: Config, arch: str) -> Shape | None:
    """Kimi-Linear: the layers are listed, counted from 1."""
    if not isinstance(attention := text.get("linear_attn_config"), dict):
        return None
    layers = len(attention["kda_layers"])
    kernel = attention["short_conv_kernel_size"]
    full = text["num_hidden_layers"] - layers
    return _delta(full, layers, attention["num_heads"], attention["head_dim"], kernel)


def _bailing(text: Config, arch: str) -> Shape | None:
    """Ling and Ring: lightning attention, or delta attention where there is a convolution."""
    if not arch.startswith("BailingMoe") or "layer_group_size" not in text:
        return None
    heads, group = text["num_attention_heads"], text["layer_group_size"]
    width = text.get("head_dim") or text["hidden_size"] // heads
    if isinstance(group, list):
        full, layers = sum(one == 1 for one in group), sum(one != 1 for one in group)
    else:
        full, layers = _every(text, group)
    if (kernel := text.get("short_conv_kernel_size")) is not None:
        return _delta(full, layers, heads, width, kernel)
    return full, layers, 0, heads * width * width


def _lightning(text: Config, arch: str) -> Shape | None:
    """MiniCPM-SALA."""
    if "mixer_types" not in text:
        return None
    mixers, heads = text["mixer_types"], text.get("lightning_nkv") or text["num_key_value_heads"]
    width = text.get("lightning_head_dim") or text.get("head_dim")
    width = width or text["hidden_size"] // text["num_attention_heads"]
    layers = sum(mixer == "lightning-attn" for mixer in mixers)
    return len(mixers) - layers, layers, 0, heads * width * width


def _short_convolution(text: Config, arch: str) -> Shape | None:
    """LFM2: a convolution and no state."""
    if "conv_L_cache" not in text:
        return None
    full, layers = _kinds(text)
    return full, layers, text["hidden_size"] * (text["conv_L_cache"] - 1), 0


def _first(text: Config, *keys: str) -> int:
    return int(next(text[key] for key in keys if type(text.get(key)) is int))


def _mamba2(text: Config, arch: str) -> Shape | None:
    """Nemotron-H, Granite 4, Falcon-H1 (both kinds in every layer), Mamba 2."""
    full, layers = _kinds(text)
    if arch == "FalconH1ForCausalLM":
        full = layers = text["num_hidden_layers"]
    elif arch == "Mamba2ForCausalLM":
        full, layers = 0, text["num_hidden_layers"]
    try:
        heads = _first(text, "mamba_num_heads", "mamba_n_heads", "num_heads")
        state = _first(text, "ssm_state_size", "mamba_d_state", "state_size")
        groups = _first(text, "mamba_n_groups", "n_groups")
        kernel = _first(text, "mamba_d_conv", "conv_kernel")
    except StopIteration:
        return None
    inner = _inner(text, heads)
    return full, layers, (inner + 2 * groups * state) * (kernel - 1), inner * state


def _inner(text: Config, heads: int) -> int:
    if (given := text.get("mamba_d_ssm")) is not None:
        return int(given)
    width = text.get("mamba_head_dim") or text.get("mamba_d_head") or text.get("head_dim")
    if type(width) is int:
        return heads * width
    return int(text.get("mamba_expand", 2) * text["hidden_size"])


_FAMILIES: tuple[Callable[[Config, str], Shape | None], ...] = (
    _gated_delta,
    _kimi_delta,
    _bailing,
    _lightning,
    _short_convolution,
    _mamba2,
)
