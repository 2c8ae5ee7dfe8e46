"""INC6, INC7 and INC8 as the operators typed them, through the whole check."""

import pytest

from stoker.serving import rules
from stoker.serving.checking import written
from stoker.serving.checking.reason import Verdict

GLM = """\
sglang: "0.5.12"
flags: [--model-path, /data/models/GLM-5-NVFP4, --tp-size, "8", --attention-backend, flashinfer,
  --max-running-requests, "1024"{flags}]
env: {{{env}}}
gpu: {{kind: rtx-pro-6000-96g, sm: 120, count: 8, memory_mib: 97887, free_gib: 94.5}}
host: {{ram_gb: 512, mem_available_gb: 449}}
"""
CHANNELS = 'NCCL_MIN_NCHANNELS: "16", NCCL_MAX_NCHANNELS: "32", NCCL_BUFFSIZE: "8388608"'
STEPS = ', --num-continuous-decode-steps, "4"'


def verdict(flags: str = "", env: str = "") -> Verdict:
    return written.verdict("glm", GLM.format(flags=flags, env=env), rows=rules.load())


def test_inc6_is_refused_with_what_tree_cannot_do() -> None:
    found = verdict(STEPS, f"NCCL_ALGO: Tree, {CHANNELS}")
    assert found.word == "refuse"
    assert [reason.name for reason in found.reasons if reason.severity == "refuse"] == ["nccl_algo"]
    assert "all-gather, which 8 ranks need" in found.reasons[0].message


def test_inc7_is_warned_of_both_suspects() -> None:
    found = verdict(STEPS, CHANNELS)
    assert {"nccl_channels", "no_effect"} <= {reason.name for reason in found.reasons}
    assert found.word == "warn"


def test_inc8_is_warned_of_with_its_price() -> None:
    (reason,) = verdict(", --enable-flashinfer-allreduce-fusion").reasons
    assert reason.name == "no_effect" and "236 instead of 1867 tok/s" in reason.message


@pytest.mark.parametrize("env", ["", "NCCL_ALGO: Ring", 'NCCL_MIN_NCHANNELS: "8"'])
def test_the_flag_set_that_worked_is_let_alone(env: str) -> None:
    assert verdict(env=env).reasons == ()
