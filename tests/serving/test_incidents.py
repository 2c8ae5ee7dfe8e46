"""The operators' incidents, typed in as they were typed: refused, or undone, as they ask for."""

import json
import shlex
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stoker import cli
from stoker.serving.checking import written
from stoker.serving.checking.asking import Facts, question
from stoker.serving.checking.judging import judge
from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Gpus, Host
from stoker.serving.checking.reason import Reason, Verdict
from stoker.serving.evidence import comparing
from stoker.serving.evidence.record import Figures, Ran
from stoker.serving.following import Following, Patience
from stoker.serving.following import Verdict as Followed
from stoker.serving.rules import load
from tests.serving.evidence.records import record
from tests.serving.test_following import BASE

RTX = Gpus("NVIDIA RTX PRO 6000 Blackwell Server Edition", sm=120, count=8, memory_mib=97887)
HOST = Host(ram_gb=512, mem_available_gb=449)
KIMI = Model(
    arch="KimiK25ForConditionalGeneration",
    heads=64,
    layers=61,
    mla=True,
    kv_lora_rank=512,
    qk_rope_head_dim=64,
    hidden=7168,
    vocabulary=163840,
    kv_dtype_bytes=2,
    max_position=262144,
    weights_gib=8 * 72,
)
LAB = Facts(gpus=RTX, host=HOST, model=KIMI)
KIMI_PATH = "--model-path /data/models/Kimi-K2.5"
HICACHE = "--enable-hierarchical-cache --hicache-size"
EAGLE = (
    "--speculative-algorithm EAGLE3 --speculative-eagle-topk 1 --num-speculative-tokens 16 "
    "--speculative-draft-model-path /data/eagle3/output_100k_sglang/4"
)
NCCL = "NCCL_MIN_NCHANNELS=16 NCCL_MAX_NCHANNELS=32 NCCL_BUFFSIZE=8388608"


def verdict(line: str, env: str = "", facts: Facts = LAB) -> Verdict:
    """Of a command line and an environment as somebody types them, on the operators' machine."""
    named = dict(word.split("=", 1) for word in shlex.split(env))
    return judge(question("it", "0.5.12", shlex.split(line), named, facts), load())


def reason(found: Verdict, name: str) -> Reason:
    """The only one of that class."""
    (one,) = (reason for reason in found.reasons if reason.name == name)
    return one


def classes(found: Verdict) -> set[str]:
    return {reason.name for reason in found.reasons}


def test_inc1_the_size_of_a_rank_times_eight_is_refused_with_the_sum_and_48_fits() -> None:
    found = verdict(f"{KIMI_PATH} --tp 8 {HICACHE} 300")
    short = reason(found, "host_ram_short")
    told = " ".join([short.message, *short.sums])
    assert short.severity == "refuse"
    assert all(figure in told.replace(",", "") for figure in ("8", "300", "2400", "449"))
    assert "host_ram_short" not in classes(verdict(f"{KIMI_PATH} --tp 8 {HICACHE} 48"))


def test_inc3_a_fraction_of_0_93_is_refused_and_0_88_is_not() -> None:
    line = f"{KIMI_PATH} --tp-size 8 {HICACHE} 48 --mem-fraction-static"
    high = reason(verdict(f"{line} 0.93"), "mem_fraction_high")
    assert high.severity == "refuse" and "0.93" in high.message
    assert verdict(f"{line} 0.88").word != "refuse"


def test_inc4_another_program_s_flag_is_named_with_the_right_one_and_what_belongs_to_it() -> None:
    found = verdict(f"{KIMI_PATH} --tp-size 8 {EAGLE}")
    unknown = reason(found, "flag_unknown")
    assert unknown.severity == "refuse" and "--num-speculative-tokens" in unknown.message
    assert "--speculative-num-draft-tokens" in unknown.message + unknown.hint
    told = " ".join(reason.message + reason.hint for reason in found.reasons)
    assert "--speculative-num-steps" in told


def test_inc5_a_draft_as_it_was_trained_is_refused_by_the_names_of_its_tensors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = tmp_path / "4"
    _put_draft(draft, [f"layers.0.{name}" for name in _TENSORS])
    text = f"""\
name: kimi
sglang: 0.5.11
model: {{path: /data/models/Kimi-K2.5}}
placement: {{layout: tensor-parallel, gpus: [0, 1, 2, 3, 4, 5, 6, 7]}}
port: 30000
flags:
  speculative-algorithm: EAGLE3
  speculative-draft-model-path: {draft}
  speculative-eagle-topk: 1
  speculative-num-steps: 15
  speculative-num-draft-tokens: 16
"""
    (tmp_path / "kimi.yaml").write_text(text)
    assert cli.main(["check", "--json", str(tmp_path / "kimi.yaml")]) == 1
    told = json.loads(capsys.readouterr().out)
    (mismatch,) = (one for one in told["reasons"] if one["class"] == "draft_mismatch")
    assert "layers.0." in mismatch["message"] and "midlayer." in mismatch["message"]
    # By its wheel 0.5.12 is the first that loads both names.
    (tmp_path / "kimi.yaml").write_text(text.replace("0.5.11", "0.5.12"))
    cli.main(["check", "--json", str(tmp_path / "kimi.yaml")])
    assert "draft_mismatch" not in capsys.readouterr().out
    _put_draft(draft, [f"midlayer.{name}" for name in _TENSORS])
    (tmp_path / "kimi.yaml").write_text(text)
    cli.main(["check", "--json", str(tmp_path / "kimi.yaml")])
    assert "draft_mismatch" not in capsys.readouterr().out


def test_inc6_tree_for_every_collective_is_refused() -> None:
    glm = "--model-path /data/models/GLM-5-NVFP4 --tp 8 --num-continuous-decode-steps 4"
    tree = reason(verdict(glm, f"NCCL_ALGO=Tree {NCCL}", GLM), "nccl_algo")
    assert tree.severity == "refuse" and "all-gather" in tree.message


def test_inc7_without_it_nothing_is_refused_and_a_server_that_loads_is_followed() -> None:
    glm = "--model-path /data/models/GLM-5-NVFP4 --tp 8 --num-continuous-decode-steps 4"
    assert verdict(glm, NCCL, GLM).word != "refuse"
    # Twenty looks of 15 s were over after five minutes; loading is no crash and no deadlock.
    course = Following(0, Patience())
    for minute in range(40):
        look = replace(BASE, ticks=minute * 6000, cursor=f"c{minute}", lines=("sigquit",))
        assert course.judge(look, minute * 60) is Followed.WAIT
    quiet = replace(BASE, ticks=39 * 6000, cursor="c39")
    assert course.judge(quiet, 40 * 60) is Followed.WAIT
    assert course.judge(quiet, 60 * 60) is Followed.STALLED
    assert course.why.startswith("no log line and no work for ")


def test_inc8_a_server_at_an_eighth_of_its_speed_fails() -> None:
    before = record(figures=Figures(tokens_per_s=1867))
    ran = Ran(before.ran.burst)
    fell = comparing.falls(before, before.fingerprint, Figures(tokens_per_s=236), ran)
    assert len(fell) == 1 and "236" in fell[0] and "1867" in fell[0]
    assert comparing.falls(before, before.fingerprint, Figures(tokens_per_s=1500), ran) == ()


@pytest.mark.parametrize("name", ["qwen3.6-27b", "kimi-k2.5", "kimi-k2.5-eagle3", "glm-5-nvfp4"])
def test_what_worked_on_that_machine_is_not_refused(name: str) -> None:
    path = Path(__file__).parents[2] / "group_data" / "flagsets" / f"{name}.yaml"
    found = written.verdict(name, path.read_text(), Facts(gpus=RTX, host=HOST), load())
    assert found.word != "refuse", found.reasons


def test_the_demo_s_two_failures_are_refused_by_its_words_and_not_before_it_loads() -> None:
    told = {}
    for name in ("sandbox-mistyped", "sandbox-dies", "sandbox-tiny"):
        path = Path(__file__).parents[2] / "group_data" / "flagsets" / f"{name}.yaml"
        told[name] = classes(written.verdict(name, path.read_text(), Facts(), load()))
    assert told == {
        "sandbox-mistyped": {"flag_unknown"},
        "sandbox-dies": set(),
        "sandbox-tiny": set(),
    }


GLM = Facts(gpus=RTX, host=HOST, model=replace(KIMI, arch="GlmMoeDsaForCausalLM", weights_gib=420))
_TENSORS = {
    "self_attn.q_proj.weight": [64, 128],
    "self_attn.k_proj.weight": [64, 128],
    "self_attn.v_proj.weight": [64, 128],
    "self_attn.o_proj.weight": [64, 64],
    "mlp.gate_proj.weight": [128, 64],
    "mlp.up_proj.weight": [128, 64],
    "mlp.down_proj.weight": [64, 128],
    "hidden_norm.weight": [64],
    "input_layernorm.weight": [64],
    "post_attention_layernorm.weight": [64],
}


def _put_draft(folder: Path, names: list[str]) -> None:
    """A draft model's directory with tensors of these names, all of them zeros."""
    folder.mkdir(exist_ok=True)
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "vocab_size": 256,
        "draft_vocab_size": 256,
    }
    (folder / "config.json").write_text(json.dumps(config))
    shapes = dict(zip(names, _TENSORS.values(), strict=True))
    shapes |= {"fc.weight": [64, 192], "norm.weight": [64], "lm_head.weight": [256, 64]}
    header, end = {}, 0
    for name, shape in shapes.items():
        begin, end = end, end + 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + bytes(end))
