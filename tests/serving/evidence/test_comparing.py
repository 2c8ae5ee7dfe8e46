import pytest

from stoker.serving.evidence.comparing import falls, faults, incomparable
from stoker.serving.evidence.fingerprint import NONE
from stoker.serving.evidence.record import Figures, Ran
from tests.serving.evidence.records import BURST, fingerprint, record

RAN = Ran(BURST, "bench_serving, so and so")


def test_the_all_reduce_fusion_of_sm120_is_a_failure_with_both_figures() -> None:
    """INC8: it ran, and gave 236 tokens/s of 1867."""
    fused = fingerprint(flags=("--enable-flashinfer-allreduce-fusion",))
    told = falls(record(1867.0), fused, Figures(tokens_per_s=236.0), RAN)
    assert told == ("236 tokens/s in the burst, 13% of the 1867 of 2026-11-29",)
    told = falls(record(1867, 1867), fused, Figures(tokens_per_s=1800, throughput=236), RAN)
    assert told == ("236 tokens/s by bench_serving, 13% of the 1867 of 2026-11-29",)


@pytest.mark.parametrize(("before", "now"), [(1350, 930), (1350, 700), (930, 1350), (3740, 1900)])
def test_what_one_good_server_gives_from_day_to_day_is_none(before: float, now: float) -> None:
    figures = Figures(tokens_per_s=now, throughput=now)
    assert falls(record(before, before), fingerprint(), figures, RAN) == ()


def test_on_a_processor_that_others_use_too_only_a_ruinous_fall_counts() -> None:
    shared = fingerprint(gpu=NONE, driver=NONE)
    last = record(1867, fingerprint=shared)
    assert falls(last, shared, Figures(tokens_per_s=500), RAN) == ()
    assert falls(last, shared, Figures(tokens_per_s=236), RAN)


@pytest.mark.parametrize(
    ("part", "value", "what"),
    [("gpu", "NVIDIA L40S", "GPU"), ("gpus", 4, "number of GPUs"), ("model", "cd" * 32, "model")],
)
def test_another_machine_or_model_is_not_compared(part: str, value: object, what: str) -> None:
    now = fingerprint(**{part: value})
    assert (
        incomparable(record(), now, Figures(), RAN)
        == f"the evidence of 2026-11-29 is of another {what}"
    )
    assert falls(record(), now, Figures(tokens_per_s=1), RAN) == ()


def test_another_burst_is_not_compared_and_what_nobody_knows_is() -> None:
    other = Ran("3 of 16 tokens at once, each for 1 more")
    assert "another burst" in incomparable(record(), fingerprint(), Figures(), other)
    assert falls(record(), fingerprint(model=None), Figures(tokens_per_s=1), RAN)


def test_a_fall_of_a_server_that_got_no_processor_is_not_its_own() -> None:
    """With seven builds beside it a server on two cores gave a seventh of its own figure."""
    starved = Figures(tokens_per_s=107, waited=0.55)
    assert falls(record(), fingerprint(), starved, RAN) == ()
    assert incomparable(record(), fingerprint(), starved, RAN) == (
        "it waited 55% of the time for a processor that others had"
    )
    assert falls(record(), fingerprint(), Figures(tokens_per_s=107, waited=0.2), RAN)


def test_figures_that_were_not_measured_are_no_failure() -> None:
    assert falls(record(throughput=None), fingerprint(), Figures(throughput=1), RAN) == ()
    assert falls(record(), fingerprint(), Figures(), RAN) == ()
    assert faults(Figures(), drafted=True) == ()


def test_a_draft_that_never_guesses_right_is_a_failure_although_it_serves() -> None:
    (told,) = faults(Figures(accept_length=1.0), drafted=True)
    assert told.startswith("its accept length is 1.00, so no guess of the draft was ever right")
    assert faults(Figures(accept_length=2.7), drafted=True) == ()
    assert faults(Figures(accept_length=1.0), drafted=False) == ()


def test_too_little_memory_left_at_the_peak_is_a_failure_with_both_figures() -> None:
    (told,) = faults(Figures(low_water_gib=0.21), drafted=False)
    assert "left 0.21 GiB free on a GPU, less than the 0.50" in told
    assert faults(Figures(low_water_gib=0.93), drafted=False) == ()


def test_a_restart_while_it_was_measured_is_a_failure() -> None:
    assert faults(Figures(restarts=1), drafted=False) == (
        "it restarted 1 time(s) while it was measured",
    )
