"""What has to fit each other: the shared cases' kinds with other values, and near misses."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.serving import fitting
from stoker.serving.checking.model import Model
from stoker.serving.checking.question import OtherServer, Question
from stoker.serving.fitting import ports
from stoker.serving.weights.files import Draft, Files
from tests.serving.rules.asked import LLAMA, question

MLA = {"arch": "DeepseekV3ForCausalLM", "heads": 64, "kv_heads": 64, "mla": True}
HYBRID = {"arch": "Qwen3NextForCausalLM", "heads": 16, "kv_heads": 2, "hybrid_mamba": True}
GPUS = {"sm": 120, "count": 64}


def told(asked: Question) -> list[tuple[str, str]]:
    return [(reason.name, reason.severity) for reason in fitting.check(asked)]


@pytest.mark.parametrize(
    ("flags", "model", "heads"),
    [
        ({"tp-size": 6}, LLAMA, "64 attention heads cannot be shared evenly by 6 ranks"),
        ({"tp-size": 3}, LLAMA, "64 attention heads cannot be shared evenly by 3 ranks"),
        (
            {"tp-size": 12},
            {**LLAMA, "heads": 48, "kv_heads": 8},
            "8 KV heads cannot be shared evenly by 12 ranks",
        ),
        (
            {"tp-size": 4},
            {**LLAMA, "heads": 40, "kv_heads": 10},
            "10 KV heads cannot be shared evenly by 4 ranks",
        ),
        ({"tp-size": 5}, MLA, "64 attention heads cannot be shared evenly by 5 ranks"),
        (
            {"tp-size": 6, "dp-size": 2, "enable-dp-attention": True},
            LLAMA,
            "heads cannot be shared evenly by 3 ranks",
        ),
        ({"tp-size": 2, "pp-size": 3}, LLAMA, ""),
        ({"tp-size": 8}, LLAMA, ""),
        ({"tp-size": 16}, LLAMA, ""),
        ({"tp-size": 8}, {**MLA, "kv_heads": 1}, ""),
        ({"tp-size": 4}, HYBRID, ""),
        ({"tp-size": 12, "dp-size": 3, "enable-dp-attention": True}, LLAMA, ""),
        ({"tp-size": 6, "attn-dp-size": 3}, LLAMA, ""),
        ({"tp-size": 6, "device": "cpu"}, LLAMA, ""),
        ({"tp-size": 6}, {}, ""),
        ({"tp-size": 6}, {"arch": "X"}, ""),
        ({}, LLAMA, ""),
    ],
)
def test_heads_have_to_divide_by_the_ranks_that_share_them(
    flags: dict[str, Any], model: dict[str, Any], heads: str
) -> None:
    reasons = list(fitting.check(question(flags, model=model, gpu=GPUS)))
    assert [reason.name for reason in reasons] == (["tp_heads"] if heads else [])
    assert not heads or (heads in reasons[0].message and reasons[0].severity == "refuse")


@given(st.integers(1, 64), st.integers(1, 16), st.integers(1, 32))
def test_tp_heads_is_what_sglang_asserts(groups: int, kv_heads: int, ranks: int) -> None:
    heads = groups * kv_heads
    model = {**LLAMA, "heads": heads, "kv_heads": kv_heads}
    even = kv_heads % ranks == 0 if kv_heads >= ranks else ranks % kv_heads == 0
    fits = heads % ranks == 0 and even
    assert told(question({"tp-size": ranks}, model=model, gpu=GPUS)) == (
        [] if fits else [("tp_heads", "refuse")]
    )


def test_the_size_that_is_offered_fits() -> None:
    (reason,) = fitting.check(question({"tp-size": 6}, gpu=GPUS))
    assert reason.hint == "choose a --tp-size that divides, such as 4"


def test_ranks_that_do_not_divide_into_attention_groups_are_refused() -> None:
    flags = {"tp-size": 8, "dp-size": 3, "enable-dp-attention": True}
    assert told(question(flags)) == [("dp_attention", "refuse")]


@pytest.mark.parametrize(
    ("flags", "fits"),
    [
        ({"tp-size": 8, "ep-size": 3}, False),
        ({"tp-size": 2, "ep-size": 4}, False),
        ({"tp-size": 8, "ep-size": 8}, True),
        ({"tp-size": 8, "ep-size": 2}, True),
        ({"tp-size": 8, "ep-size": 1}, True),
        ({"tp-size": 8, "ep-size": 16, "moe-a2a-backend": "deepep"}, True),
        ({"tp-size": 8, "ep-size": 3, "moe-a2a-backend": "mooncake"}, True),
        ({"tp-size": 8, "ep-size": 3, "moe-a2a-backend": "none"}, False),
        ({"tp-size": 8, "ep-size": 3, "enable-nsa-prefill-context-parallel": True}, True),
        ({"tp-size": 8, "ep-size": 3, "attn-cp-size": 2}, True),
        ({"tp-size": 8, "ep-size": 3, "attn-cp-size": 1}, False),
    ],
)
def test_experts_share_all_the_ranks(flags: dict[str, Any], fits: bool) -> None:
    assert told(question(flags)) == ([] if fits else [("flags_conflict", "refuse")])


@pytest.mark.parametrize(
    ("flags", "env", "count", "visible", "fits"),
    [
        ({"tp-size": 8}, {}, 4, None, False),
        ({"tp-size": 2}, {}, 1, None, False),
        ({"tp-size": 4, "pp-size": 2}, {}, 4, None, False),
        ({"tp-size": 2, "dp-size": 4}, {}, 4, None, False),
        ({"tp-size": 8}, {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}, 8, None, False),
        ({"tp-size": 4}, {"CUDA_VISIBLE_DEVICES": "0,1,8,2"}, 8, None, False),
        ({"tp-size": 1}, {"CUDA_VISIBLE_DEVICES": ""}, 8, None, False),
        ({"tp-size": 4, "base-gpu-id": 6}, {}, 8, None, False),
        ({"tp-size": 4, "gpu-id-step": 3}, {}, 8, None, False),
        ({"tp-size": 8}, {}, 8, 4, False),
        ({"tp-size": 8}, {"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}, 4, 8, False),
        ({"tp-size": 8}, {}, 4, 8, False),
        ({"tp-size": 1}, {"CUDA_VISIBLE_DEVICES": "5"}, 4, 1, False),
        ({"tp-size": 8}, {}, 8, None, True),
        ({"tp-size": 4, "base-gpu-id": 4}, {}, 8, None, True),
        ({"tp-size": 4, "gpu-id-step": 2}, {}, 8, None, True),
        ({"tp-size": 8, "dp-size": 8, "enable-dp-attention": True}, {}, 8, None, True),
        ({"tp-size": 8, "attn-dp-size": 8}, {}, 8, None, True),
        ({"tp-size": 8, "nnodes": 2}, {}, 4, None, True),
        ({"tp-size": 4}, {"CUDA_VISIBLE_DEVICES": "4,5,6,7"}, 8, None, True),
        ({"tp-size": 2}, {"CUDA_VISIBLE_DEVICES": "GPU-aa,GPU-bb"}, 8, None, True),
        ({"tp-size": 8}, {}, None, None, True),
        ({"tp-size": 2, "device": "cpu"}, {"CUDA_VISIBLE_DEVICES": ""}, 0, None, True),
    ],
)
def test_there_have_to_be_as_many_gpus_as_ranks(
    flags: dict[str, Any], env: dict[str, str], count: int | None, visible: int | None, fits: bool
) -> None:
    asked = question(flags, env, gpu={"count": count}, visible=visible)
    assert told(asked) == ([] if fits else [("tp_exceeds_gpus", "refuse")])


def test_ranks_and_gpus_are_told_with_their_product() -> None:
    flags = {"tp-size": 2, "pp-size": 2, "dp-size": 2}
    (reason,) = fitting.check(question(flags, gpu={"count": 4}))
    assert (
        "8 ranks (replicas 2 x tensor 2 x pipeline 2) want a GPU each, and the server has 4 GPUs"
        in reason.message
    )


@pytest.mark.parametrize(
    ("flags", "other", "ports"),
    [
        ({"port": 30000}, (30000,), ["30000 (HTTP)"]),
        ({}, (30000,), ["30000 (HTTP)"]),
        ({"port": 30001, "nccl-port": 29001}, (30000, 29001), ["29001 (torch.distributed)"]),
        (
            {"port": 30001, "dist-init-addr": "127.0.0.1:25000"},
            (25000,),
            ["25000 (dist-init-addr)"],
        ),
        (
            {"port": 30001, "disaggregation-mode": "prefill"},
            (8998,),
            ["8998 (disaggregation bootstrap)"],
        ),
        (
            {"port": 30000, "tp-size": 2, "dp-size": 2, "enable-dp-attention": True},
            (30234,),
            ["30234 (tokenizer of DP attention)"],
        ),
        ({"port": 30001}, (30000,), []),
        ({"port": 30001, "disaggregation-mode": "decode"}, (8998,), []),
        ({"port": 30001, "nccl-port": 29001, "dist-init-addr": "a:25000"}, (29001,), []),
    ],
)
def test_a_port_of_another_server_is_a_clash(
    flags: dict[str, Any], other: tuple[int, ...], ports: list[str]
) -> None:
    asked = question(flags, others=(OtherServer("sglang@1.service", other),))
    clashes = [r for r in fitting.check(asked) if r.name == "port_clash"]
    assert [r.message for r in clashes] == [
        f"port {port} is wanted by sglang@1.service too" for port in ports
    ]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"port": 30000, "nccl-port": 30000}, "port 30000 is wanted twice by the server itself"),
        ({"port": 30000, "nccl-port": 29000, "dp-size": 2}, "by each of 2 engines of --dp-size"),
        ({"port": 70000}, "port 70000 (HTTP) is none: ports go from 1 to 65535"),
    ],
)
def test_a_server_may_clash_with_itself(flags: dict[str, Any], message: str) -> None:
    (reason,) = fitting.check(question(flags))
    assert message in reason.message and reason.severity == "refuse"


def test_every_port_that_a_server_binds_is_told_to_whoever_places_the_others() -> None:
    asked = question({"port": 30002, "nccl-port": 29002}, {"SGLANG_GRPC_PORT": "40002"})
    assert list(ports.of(asked)) == [
        (30002, "HTTP"),
        (29002, "torch.distributed"),
        (40002, "gRPC"),
    ]


ALLOW = {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
YARN = (
    '{"rope_scaling": {"rope_type": "yarn", "factor": 4.0,'
    ' "original_max_position_embeddings": 32768}}'
)


@pytest.mark.parametrize(
    ("flags", "env", "severity"),
    [
        ({"context-length": 262144}, {}, "refuse"),
        ({"context-length": 131073}, {}, "refuse"),
        ({"context-length": 131072}, {}, ""),
        ({"context-length": 4096}, {}, ""),
        ({}, {}, ""),
        ({"context-length": 262144}, ALLOW, "warn"),
        ({"context-length": 262144}, {next(iter(ALLOW)): "0"}, "refuse"),
        ({"context-length": 262144, "json-model-override-args": YARN}, {}, "refuse"),
        ({"context-length": 262144, "json-model-override-args": YARN}, ALLOW, ""),
        (
            {
                "context-length": 262144,
                "json-model-override-args": '{"rope_scaling": {"factor": 2}}',
            },
            {},
            "",
        ),
        (
            {
                "context-length": 262144,
                "json-model-override-args": '{"max_position_embeddings": 262144}',
            },
            {},
            "",
        ),
        ({"context-length": 262144, "json-model-override-args": '{"a": 1}'}, {}, "refuse"),
        ({"context-length": 262144, "json-model-override-args": "{"}, {}, ""),
    ],
)
def test_the_context_has_to_lie_within_the_models(
    flags: dict[str, Any], env: dict[str, str], severity: str
) -> None:
    expected = [("context_too_long", severity)] if severity else []
    assert told(question(flags, env)) == expected
    assert told(question(flags, env, model={"arch": "X"})) == []


@pytest.mark.parametrize(
    ("algorithm", "longest", "env", "refused"),
    [
        ("EAGLE3", 2048, {}, True),
        ("EAGLE", 2048, {}, True),
        ("EAGLE3", 2048, ALLOW, False),
        ("EAGLE3", 8192, {}, False),
        ("DFLASH", 2048, {}, False),
        ("EAGLE3", None, {}, False),
    ],
)
def test_a_draft_has_to_be_made_for_the_servers_context(
    algorithm: str, longest: int | None, env: dict[str, str], refused: bool
) -> None:
    flags = {"context-length": 8192, "speculative-algorithm": algorithm}
    draft = Draft(Files(), Model(max_position=longest))
    expected = [("context_too_long", "refuse")] if refused else []
    assert told(question(flags, env, draft=draft)) == expected


@pytest.mark.parametrize(
    ("sglang", "flags", "model", "end"),
    [
        ("0.5.12", {"mamba-scheduler-strategy": "extra_buffer"}, LLAMA, "dies at the first"),
        ("0.5.9", {"mamba-scheduler-strategy": "extra_buffer"}, MLA, "dies at the first"),
        ("0.5.23", {"mamba-radix-cache-strategy": "extra_buffer"}, LLAMA, "refused at the start"),
        ("0.5.23", {"mamba-radix-cache-strategy": "extra_buffer_lazy"}, LLAMA, "at the start"),
        (
            "0.5.12",
            {"mamba-scheduler-strategy": "extra_buffer", "disable-radix-cache": True},
            LLAMA,
            "dies at the first",
        ),
        (
            "0.5.23",
            {"mamba-radix-cache-strategy": "extra_buffer", "disable-radix-cache": True},
            LLAMA,
            "",
        ),
        ("0.5.12", {"mamba-scheduler-strategy": "no_buffer"}, LLAMA, ""),
        ("0.5.12", {"mamba-scheduler-strategy": "auto"}, LLAMA, ""),
        ("0.5.12", {"mamba-ssm-dtype": "bfloat16", "max-mamba-cache-size": 8}, LLAMA, ""),
        ("0.5.12", {"mamba-scheduler-strategy": "extra_buffer"}, HYBRID, ""),
        ("0.5.12", {"mamba-scheduler-strategy": "extra_buffer"}, {}, ""),
        ("0.5.12", {"mamba-scheduler-strategy": "extra_buffer"}, {"heads": 8}, ""),
        (
            "0.5.12",
            {"mamba-scheduler-strategy": "extra_buffer"},
            {"arch": "FalconH1ForCausalLM"},
            "",
        ),
    ],
)
def test_states_are_kept_only_of_a_model_that_has_some(
    sglang: str, flags: dict[str, Any], model: dict[str, Any], end: str
) -> None:
    words = tuple(f"--{name}" for name in flags)
    reasons = list(fitting.check(question(flags, sglang=sglang, model=model, words=words)))
    assert [reason.name for reason in reasons] == (["mamba_on_non_mamba"] if end else [])
    assert not end or end in reasons[0].message
    assert not end or reasons[0].hint == f"remove --{next(iter(flags))}"


@pytest.mark.parametrize(
    ("flags", "fits"),
    [
        ({"chunked-prefill-size": 1000, "page-size": 64}, False),
        ({"chunked-prefill-size": 4096, "page-size": 64}, True),
        ({"chunked-prefill-size": -1, "page-size": 64}, True),
        ({"chunked-prefill-size": 1000}, True),
        ({"chunked-prefill-size": 1000, "page-size": 1}, True),
        ({"chunked-prefill-size": 1000, "page-size": 64, "disaggregation-mode": "decode"}, True),
    ],
)
def test_a_chunk_of_prefill_is_whole_pages(flags: dict[str, Any], fits: bool) -> None:
    assert told(question(flags)) == ([] if fits else [("flags_conflict", "refuse")])


@pytest.mark.parametrize(
    ("sglang", "flags", "tokens", "refused"),
    [
        ("0.5.12", {"reasoning-parser": "qwen3"}, 3, True),
        ("0.5.12", {"reasoning-parser": "deepseek-r1"}, 2, True),
        ("0.5.12.post1", {"reasoning-parser": "kimi_k2"}, 4, True),
        ("0.5.16", {"reasoning-parser": "glm45"}, 2, True),
        ("0.5.17", {"reasoning-parser": "qwen3"}, 3, False),
        ("0.5.23", {"reasoning-parser": "qwen3"}, 3, False),
        ("0.5.9", {"reasoning-parser": "qwen3"}, 3, False),
        ("0.5.12", {"reasoning-parser": "qwen3"}, 1, False),
        ("0.5.12", {"reasoning-parser": "qwen3"}, None, False),
        ("0.5.12", {"reasoning-parser": "kimi"}, 3, False),
        ("0.5.12", {"reasoning-parser": "gpt-oss"}, 3, False),
        ("0.5.12", {"reasoning-parser": "qwen3", "grammar-backend": "none"}, 3, False),
        ("0.5.12", {"reasoning-parser": "qwen3", "skip-tokenizer-init": True}, 3, False),
        ("0.5.12", {}, 3, False),
    ],
)
def test_a_reasoning_parser_needs_its_end_as_one_token(
    sglang: str, flags: dict[str, Any], tokens: int | None, refused: bool
) -> None:
    asked = question(flags, sglang=sglang, files=Files(think_end_tokens=tokens))
    assert told(asked) == ([("parser_tokenizer_mismatch", "refuse")] if refused else [])
    assert told(replace(asked, files=None)) == []
