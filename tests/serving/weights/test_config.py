"""config.json of the usual families, cut to what counts, and the figures that follow from it."""

from typing import Any

import pytest

from stoker.serving.checking.model import Model
from stoker.serving.weights import config
from stoker.serving.weights.config import Held

Config = dict[str, Any]

YARN = {"type": "yarn", "factor": 64.0, "original_max_position_embeddings": 4096}
KIMI_TEXT: Config = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "hidden_size": 7168,
    "kv_lora_rank": 512,
    "max_position_embeddings": 262144,
    "num_attention_heads": 64,
    "num_hidden_layers": 61,
    "num_key_value_heads": 64,
    "num_nextn_predict_layers": 0,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized"},
    "rope_scaling": YARN,
    "v_head_dim": 128,
    "vocab_size": 163840,
}
KIMI: Config = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "text_config": KIMI_TEXT,
    "vision_config": {"vt_hidden_size": 1152, "vt_num_hidden_layers": 27},
}
QWEN35_9B: Config = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "vision_config": {},
    "text_config": {
        "model_type": "qwen3_5_text",
        "head_dim": 256,
        "hidden_size": 4096,
        "full_attention_interval": 4,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 8,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
        "linear_value_head_dim": 128,
        "mamba_ssm_dtype": "float32",
        "max_position_embeddings": 262144,
        "mtp_num_hidden_layers": 1,
        "num_attention_heads": 16,
        "num_hidden_layers": 32,
        "num_key_value_heads": 4,
        "vocab_size": 248320,
    },
}
QWEN3_NEXT: Config = {
    "architectures": ["Qwen3NextForCausalLM"],
    "model_type": "qwen3_next",
    "full_attention_interval": 4,
    "head_dim": 256,
    "hidden_size": 2048,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_value_head_dim": 128,
    "max_position_embeddings": 262144,
    "num_attention_heads": 16,
    "num_hidden_layers": 48,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
}
GRANITE: Config = {
    "architectures": ["GraniteMoeHybridForCausalLM"],
    "hidden_size": 2048,
    "layer_types": ["attention" if n in (5, 15, 25, 35) else "mamba" for n in range(40)],
    "mamba_d_conv": 4,
    "mamba_d_head": 64,
    "mamba_d_state": 128,
    "mamba_expand": 2,
    "mamba_n_groups": 1,
    "mamba_n_heads": 64,
    "max_position_embeddings": 131072,
    "num_attention_heads": 32,
    "num_hidden_layers": 40,
    "num_key_value_heads": 8,
    "vocab_size": 100352,
}
GLM5: Config = {
    "architectures": ["GlmMoeDsaForCausalLM"],
    "hidden_size": 6144,
    "index_head_dim": 128,
    "index_topk": 2048,
    "kv_lora_rank": 512,
    "max_position_embeddings": 202752,
    "num_attention_heads": 64,
    "num_hidden_layers": 78,
    "num_nextn_predict_layers": 1,
    "qk_rope_head_dim": 64,
    "v_head_dim": 256,
    "vocab_size": 154880,
}
LLAMA31: Config = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "max_position_embeddings": 131072,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "rope_scaling": {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
    "vocab_size": 128256,
}


def cell_bytes(model: Model, tp: int = 1) -> int:
    """A token's KV bytes on one rank, as the shared rows of memory count them."""
    layers = model.full_attention_layers if model.hybrid_mamba else model.layers
    assert layers is not None
    if model.mla:
        assert model.kv_lora_rank is not None and model.qk_rope_head_dim is not None
        return (model.kv_lora_rank + model.qk_rope_head_dim) * layers * 2
    assert model.kv_heads is not None and model.head_dim is not None
    heads = max(1, model.kv_heads // tp)
    return heads * (model.head_dim + (model.v_head_dim or model.head_dim)) * layers * 2


@pytest.mark.parametrize(
    ("given", "tp", "cell", "row"),
    [
        (LLAMA31, 1, 131072, "m3"),
        (KIMI, 8, 70272, "l29"),
        (QWEN35_9B, 2, 16384, "h41"),
        (QWEN3_NEXT, 1, 24576, "h55"),
        (GRANITE, 1, 8192, "h50"),
    ],
)
def test_the_kv_cell_is_the_one_that_real_logs_show(
    given: Config, tp: int, cell: int, row: str
) -> None:
    assert cell_bytes(config.model(given), tp) == cell, row


@pytest.mark.parametrize(
    ("given", "tp", "slot", "row"),
    [(QWEN35_9B, 2, 25755648, "h41"), (GRANITE, 1, 76437504, "h50")],
)
def test_the_state_of_a_request_is_the_one_that_real_logs_show(
    given: Config, tp: int, slot: int, row: str
) -> None:
    model = config.model(given)
    assert model.state_slot_bytes is not None
    assert model.state_slot_bytes / tp == slot, row


@pytest.mark.parametrize(
    ("given", "position"),
    [
        (LLAMA31, 131072),
        (KIMI, 262144),
        ({"max_position_embeddings": 32768, "rope_scaling": {"factor": 4.0}}, 131072),
        ({"max_position_embeddings": 32768, "rope_parameters": {"rope_type": "default"}}, 32768),
        ({"max_position_embeddings": 32768, "rope_scaling": YARN}, 32768),
        ({"max_position_embeddings": 4096, "model_max_length": 8192}, 8192),
        ({}, None),
        ({"max_position_embeddings": "many"}, None),
    ],
)
def test_the_longest_context_is_derived_as_sglang_does(given: Config, position: int | None) -> None:
    assert config.model(given).max_position == position


def test_a_multimodal_model_is_described_by_its_language_model() -> None:
    model = config.model(KIMI)
    assert model.arch == "KimiK25ForConditionalGeneration"
    assert (model.heads, model.layers, model.hidden) == (64, 61, 7168)
    assert (model.mla, model.multimodal, model.hybrid_mamba) == (True, True, False)
    assert model.quantization == "compressed-tensors"


def test_the_vision_part_has_the_size_that_lessens_the_default_fraction() -> None:
    kimi, qwen = config.model(KIMI), config.model(QWEN35_9B)
    # Row l29: 0.8260405859375 where the same model without images would get 0.908.
    assert (kimi.vision_layers, kimi.vision_hidden) == (27, 1152)
    assert (qwen.vision_layers, qwen.vision_hidden) == (24, 1024)
    assert not config.model(LLAMA31).vision_layers


def test_a_sparse_attention_has_an_indexer() -> None:
    model = config.model(GLM5)
    assert (model.index_head_dim, model.kv_lora_rank, model.built_in_draft) == (128, 512, True)
    assert config.model({**GLM5, "index_topk": None}).index_head_dim is None


def test_a_draft_layer_counts_only_while_its_weights_are_there() -> None:
    held = Held(size_bytes=2**30, deepest=78, own_draft=False)
    assert config.model(GLM5, held).built_in_draft
    assert not config.model(GLM5, Held(2**30, 77, False)).built_in_draft
    assert config.model(QWEN35_9B, Held(2**30, 31, True)).built_in_draft
    assert config.model(QWEN3_NEXT).built_in_draft
    assert not config.model(LLAMA31).built_in_draft


@pytest.mark.parametrize(
    ("arch", "window"),
    [
        ("GptOssForCausalLM", 128),
        ("MistralForCausalLM", None),
        ("Gemma3ForCausalLM", None),
        ("Gemma4ForCausalLM", 128),
    ],
)
def test_a_window_counts_where_sglang_keeps_a_pool_for_it(arch: str, window: int | None) -> None:
    given = {**LLAMA31, "architectures": [arch], "sliding_window": 128}
    assert config.model(given).sliding_window == window


@pytest.mark.parametrize(
    ("given", "width"),
    [
        ({"hidden_size": 4096, "num_attention_heads": 32}, 128),
        ({"hidden_size": 2880, "num_attention_heads": 64, "model_type": "gpt_oss"}, 64),
        ({"hidden_size": 1024, "num_attention_heads": 16, "model_type": "qwen3"}, 128),
        ({"hidden_size": 4096, "num_attention_heads": 32, "head_dim": None}, 128),
        ({"hidden_size": 2048, "num_attention_heads": 32, "head_dim": 128}, 128),
        ({"hidden_size": 4096}, None),
    ],
)
def test_the_width_of_a_head(given: Config, width: int | None) -> None:
    assert config.model(given).head_dim == width


LING: Config = {
    "architectures": ["BailingMoeV2_5ForCausalLM"],
    "head_dim": 128,
    "hidden_size": 4096,
    "kv_lora_rank": 512,
    "layer_group_size": 8,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "qk_rope_head_dim": 64,
}
KIMI_LINEAR: Config = {
    "architectures": ["KimiLinearForCausalLM"],
    "hidden_size": 2304,
    "kv_lora_rank": 512,
    "linear_attn_config": {
        "full_attn_layers": [4, 8],
        "head_dim": 128,
        "kda_layers": [1, 2, 3, 5, 6, 7],
        "num_heads": 32,
        "short_conv_kernel_size": 4,
    },
    "num_attention_heads": 32,
    "num_hidden_layers": 8,
    "qk_rope_head_dim": 64,
}
NEMOTRON: Config = {
    "architectures": ["NemotronHForCausalLM"],
    "head_dim": 128,
    "hidden_size": 2688,
    "conv_kernel": 4,
    "hybrid_override_pattern": "MEMEM*EMEMEM*",
    "mamba_head_dim": 64,
    "mamba_num_heads": 64,
    "n_groups": 8,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "ssm_state_size": 128,
}
LFM2: Config = {
    "architectures": ["Lfm2ForCausalLM"],
    "conv_L_cache": 3,
    "hidden_size": 1024,
    "layer_types": ["conv", "conv", "full_attention", "conv"],
    "num_attention_heads": 16,
    "num_hidden_layers": 4,
    "num_key_value_heads": 8,
}
FALCON: Config = {
    "architectures": ["FalconH1ForCausalLM"],
    "hidden_size": 1024,
    "mamba_d_conv": 4,
    "mamba_d_ssm": 1536,
    "mamba_d_state": 128,
    "mamba_n_groups": 1,
    "mamba_n_heads": 24,
    "num_attention_heads": 8,
    "num_hidden_layers": 36,
    "num_key_value_heads": 2,
}
SALA: Config = {
    "architectures": ["MiniCPMSALAForCausalLM"],
    "head_dim": 128,
    "hidden_size": 4096,
    "lightning_head_dim": 128,
    "lightning_nkv": 32,
    "mixer_types": ["minicpm4"] * 8 + ["lightning-attn"] * 24,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 2,
}


@pytest.mark.parametrize(
    ("given", "full", "layers", "conv", "state"),
    [
        (LING, 4, 28, 0, 32 * 128 * 128),
        (KIMI_LINEAR, 2, 6, 3 * 32 * 128 * 3, 32 * 128 * 128),
        (NEMOTRON, 2, 6, (64 * 64 + 2 * 8 * 128) * 3, 64 * 64 * 128),
        (LFM2, 1, 3, 1024 * 2, 0),
        (FALCON, 36, 36, (1536 + 2 * 128) * 3, 1536 * 128),
        # Row h45: 24 such layers of float32 are 50331648 bytes a request.
        (SALA, 8, 24, 0, 32 * 128 * 128),
    ],
)
def test_hybrid_families_say_their_layers_and_their_state(
    given: Config, full: int, layers: int, conv: int, state: int
) -> None:
    model = config.model(given)
    assert model.hybrid_mamba and model.linear is not None
    assert model.full_attention_layers == full
    assert (model.linear.layers, model.linear.conv_elements) == (layers, conv)
    assert model.linear.state_elements == state


def test_lightning_states_are_as_large_as_a_real_log_shows() -> None:
    assert config.model(SALA).state_slot_bytes == 50331648


def test_a_config_may_ask_for_a_smaller_state() -> None:
    text = {**QWEN35_9B["text_config"], "mamba_ssm_dtype": "bfloat16"}
    linear = config.model({**QWEN35_9B, "text_config": text}).linear
    assert linear is not None and linear.state_dtype_bytes == 2


@pytest.mark.parametrize(
    ("config_json", "quant", "method", "element"),
    [
        ({"quantization_config": {"quant_method": "fp8"}}, None, "fp8", 2),
        ({"quantization_config": {"quant_method": "mxfp4"}}, None, "mxfp4", 2),
        (
            {"compression_config": {"quant_method": "compressed-tensors"}},
            None,
            "compressed-tensors",
            2,
        ),
        (
            {},
            {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}},
            "modelopt_fp4",
            1,
        ),
        ({}, {"quantization": {"quant_algo": "FP8"}}, "modelopt_fp8", 2),
        ({}, "is not JSON", None, 2),
        ({}, None, None, 2),
    ],
)
def test_the_quantization_and_what_it_makes_of_the_kv_cache(
    config_json: Config, quant: object, method: str | None, element: float
) -> None:
    model = config.model(config_json, quant=quant)
    assert (model.quantization, model.kv_dtype_bytes) == (method, element)


def test_heads_of_the_cache_are_all_heads_only_where_the_family_means_that() -> None:
    given = {"num_attention_heads": 32, "hidden_size": 4096}
    assert config.model({**given, "model_type": "llama"}).kv_heads == 32
    assert config.model({**given, "model_type": "gemma3_text"}).kv_heads is None
    assert config.model({**given, "multi_query": True}).kv_heads == 1
    assert config.model({**given, "num_key_value_heads": 8}).kv_heads == 8


def test_an_unknown_architecture_gives_what_is_there_and_nothing_else() -> None:
    given = {"architectures": ["NobodyKnows"], "hidden_size": 64, "layer_types": ["odd"]}
    model = config.model(given)
    assert (model.arch, model.hidden) == ("NobodyKnows", 64)
    assert (model.heads, model.kv_heads, model.layers, model.head_dim) == (None,) * 4
    assert (model.mla, model.hybrid_mamba, model.weights_gib) == (False, False, None)


@pytest.mark.parametrize(
    ("config_json", "vision"),
    [
        (KIMI, (27, 1152)),
        ({**KIMI, "vision_config": {"vt_num_hidden_layers": 20, "vt_hidden_size": 640}}, (20, 640)),
        (QWEN35_9B, (24, 1024)),
        (KIMI_TEXT, (0, 0)),
    ],
)
def test_the_size_of_a_vision_part_is_what_sglang_takes_it_for(
    config_json: Config, vision: tuple[int, int]
) -> None:
    found = config.model(config_json)
    assert (found.vision_layers, found.vision_hidden) == vision
