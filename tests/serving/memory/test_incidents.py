"""INC1 and INC3, typed in as they were, and the flag sets that worked."""

from dataclasses import replace

import pytest

from stoker.serving.memory import check, predict
from stoker.serving.memory.prediction import Prediction
from tests.serving.memory.asked import KIMI, asked, reasons

# About 72.7 GiB of weights on each GPU: so it is with the tokens that were logged.
SERVED = replace(KIMI, weights_gib=582.0)
INC1 = "--tp 8 --enable-hierarchical-cache --hicache-size 300"
INC3 = "--tp 8 --enable-hierarchical-cache --hicache-size 48 --mem-fraction-static 0.93"


def test_inc1_is_refused_with_its_sum() -> None:
    found, _ = check(asked(INC1, model=SERVED))
    reason = next(reason for reason in found if reason.name == "host_ram_short")
    assert reason.severity == "refuse"
    assert "8 x 300 = 2400 GB" in reason.message
    assert "449 GB" in reason.message
    assert reason.hint == "--hicache-size 52 fits"


def test_inc1_is_refused_whatever_is_known_of_the_model() -> None:
    assert reasons(asked(INC1, model=None))["host_ram_short"] == "refuse"


def test_48_gb_a_rank_fits() -> None:
    fits = asked("--tp 8 --enable-hierarchical-cache --hicache-size 48", model=SERVED)
    assert "host_ram_short" not in reasons(fits)


def test_inc3_is_refused_and_its_tokens_were_predicted() -> None:
    question = asked(INC3, model=SERVED)
    assert reasons(question)["mem_fraction_high"] == "refuse"
    prediction = predict(question)
    assert isinstance(prediction, Prediction)
    assert prediction.pool.tokens == pytest.approx(231120, rel=0.01)
    least, most = prediction.after_graphs_gib
    assert least < 0.82 < most


def test_inc3_is_refused_whatever_is_known_of_the_model() -> None:
    assert reasons(asked(INC3, model=None))["mem_fraction_high"] == "refuse"


@pytest.mark.parametrize(
    "flags",
    [
        "--tp 8 --enable-hierarchical-cache --hicache-size 48 --mem-fraction-static 0.88",
        "--tp 8 --enable-hierarchical-cache --hicache-size 48 --mem-fraction-static 0.88 "
        "--speculative-algorithm EAGLE3 --speculative-draft-model-path /data/eagle3/4 "
        "--speculative-eagle-topk 1 --speculative-num-steps 15 --speculative-num-draft-tokens 16",
        "--tp 8 --max-running-requests 1024 --attention-backend flashinfer",
    ],
)
@pytest.mark.parametrize("model", [SERVED, None])
def test_a_flag_set_that_worked_is_not_refused(flags: str, model: object) -> None:
    assert "refuse" not in reasons(asked(flags, model=model)).values()


def test_eight_servers_of_one_gpu_each_get_no_reason_at_all() -> None:
    flags = (
        "--model-path /dev/shm/Qwen3.6-27B --reasoning-parser qwen3 --attention-backend flashinfer "
        "--mem-fraction-static 0.88 --max-running-requests 64 --context-length 8192 "
        "--chunked-prefill-size 4096 --mamba-scheduler-strategy extra_buffer "
        "--mamba-ssm-dtype bfloat16"
    )
    assert reasons(asked(flags)) == {}
