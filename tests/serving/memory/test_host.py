"""Host memory, /dev/shm and locked memory."""

from dataclasses import replace

import pytest

from stoker.serving.checking.question import Host, OtherServer
from stoker.serving.memory import check, host_gb
from stoker.serving.weights.files import Files
from tests.serving.memory.asked import KIMI, SMALL, asked, reasons

CACHE = "--enable-hierarchical-cache"
LARGE = replace(SMALL, weights_gib=60.0)
HYBRID = replace(SMALL, hybrid_mamba=True, full_attention_layers=8, state_slot_bytes=25 << 20)


def _host(**figures: float) -> Host:
    return replace(Host(ram_gb=512, mem_available_gb=449), **figures)


def test_the_container_s_limit_decides_where_it_is_less() -> None:
    flags = f"--tp-size 4 {CACHE} --hicache-size 40"
    assert reasons(asked(flags, model=None)) == {}
    short = reasons(asked(flags, model=None, host=_host(ct_limit_gb=160)))
    assert short == {"host_ram_short": "refuse"}


def test_without_a_known_limit_nothing_is_refused() -> None:
    found, notes = check(asked(f"--tp-size 8 {CACHE} --hicache-size 300", host=Host()))
    assert "host_ram_short" not in {reason.name for reason in found}
    assert any("host memory" in note and "cannot be told" in note for note in notes)


def test_what_the_other_servers_want_counts() -> None:
    flags = f"--tp-size 4 {CACHE} --hicache-size 48"
    others = (OtherServer("b", host_gb=250.0), OtherServer("c"))
    assert reasons(asked(flags, model=None)) == {}
    assert reasons(asked(flags, model=None, others=others)) == {"host_ram_short": "refuse"}
    found, _ = check(asked(flags, model=None), others)
    assert "+ 250.0 GB for b" in found[0].sums


def test_eight_servers_want_eight_times_as_much() -> None:
    one = asked(f"{CACHE} --hicache-size 60", model=None)
    wanted = host_gb(one)
    assert wanted == 60 + 2 * 2
    others = tuple(OtherServer(f"s{n}", host_gb=wanted) for n in range(7))
    assert reasons(replace(one, others=others)) == {"host_ram_short": "refuse"}


def test_the_ratio_is_of_each_gpu_s_pool() -> None:
    flags = f"--tp-size 2 {CACHE} --hicache-ratio 4 --mem-fraction-static 0.85"
    model = replace(SMALL, layers=64, weights_gib=33.0)
    found, _ = check(asked(flags, model=model))
    assert found[0].name == "host_ram_short"
    assert "4 x the KV pool of the GPU" in found[0].message
    assert found[0].hint.startswith("--hicache-ratio 3")


def test_a_ratio_of_an_unknown_pool_is_not_judged() -> None:
    found, notes = check(asked(f"--tp-size 8 {CACHE} --hicache-ratio 9", model=None))
    assert found == ()
    assert any("host's pool is 9 times" in note for note in notes)


def test_from_0_5_21_on_sglang_sizes_the_pool_by_what_is_free() -> None:
    flags = f"--tp-size 8 {CACHE}"
    assert "host_ram_short" in reasons(asked(flags, "0.5.20"))
    assert reasons(asked(flags, "0.5.21")) == {}


def test_a_hybrid_took_the_size_twice_up_to_0_5_16() -> None:
    flags = f"--tp-size 8 {CACHE} --hicache-size 48"
    found, _ = check(asked(flags, "0.5.12", model=HYBRID))
    assert "8 x 48 x 2 pools = 768 GB" in found[0].message
    assert "host_ram_short" not in reasons(asked(flags, "0.5.17", model=HYBRID))


def test_a_pool_smaller_than_the_gpu_s_stops_0_5_14_and_is_useless_after() -> None:
    flags = f"{CACHE} --hicache-size 8"
    assert reasons(asked(flags, "0.5.14"))["hicache_too_small"] == "refuse"
    assert reasons(asked(flags, "0.5.15"))["hicache_too_small"] == "warn"
    found, _ = check(asked(flags, "0.5.12"))
    assert "SGLang stops at that" in found[0].message


def test_a_pool_that_nearly_equals_the_gpu_s_is_left_alone() -> None:
    exact = asked(f"{CACHE} --hicache-size 78 --mem-fraction-static 0.85")
    assert "hicache_too_small" not in reasons(exact)


def test_a_ratio_below_one_stops_it_too() -> None:
    flags = f"{CACHE} --hicache-ratio 0.5"
    assert reasons(asked(flags)) == {"hicache_too_small": "refuse"}


def test_no_size_is_recommended_that_sglang_would_refuse() -> None:
    flags = f"--tp-size 4 {CACHE} --hicache-size 40"
    found, _ = check(asked(flags, host=_host(ct_limit_gb=160)))
    ram = next(reason for reason in found if reason.name == "host_ram_short")
    assert ram.hint.startswith("leave --enable-hierarchical-cache out")


@pytest.mark.parametrize(("figure", "names"), [(32.0, {"memlock_low"}), (float("inf"), set())])
def test_pinned_memory_needs_a_limit_that_allows_it(figure: float, names: set[str]) -> None:
    flags = f"--tp-size 8 {CACHE} --hicache-size 48"
    question = asked(flags, model=None, host=_host(memlock_gb=figure))
    assert set(reasons(question)) == names


def test_a_model_that_is_to_lie_in_dev_shm_must_fit_there() -> None:
    flags = "--model-path /dev/shm/large"
    missing, there = Files(exists=False), Files(exists=True)
    small = _host(shm_free_gb=40.0)
    assert reasons(asked(flags, model=LARGE, files=missing, host=small)) == {"shm_short": "refuse"}
    assert reasons(asked(flags, model=LARGE, files=there, host=small)) == {}
    assert reasons(asked(flags, model=LARGE, host=small)) == {}


def test_a_model_in_dev_shm_counts_in_the_container_s_memory() -> None:
    flags = f"--model-path /dev/shm/large {CACHE} --hicache-size 40"
    limited = _host(ct_limit_gb=100)
    assert "host_ram_short" not in reasons(asked(flags.replace("/dev/shm", "/d"), host=limited))
    assert "host_ram_short" in reasons(asked(flags, model=LARGE, host=limited))


def test_ranks_need_some_shared_memory() -> None:
    tiny = _host(shm_gb=0.064)
    assert reasons(asked("--tp-size 2", host=tiny)) == {"shm_short": "warn"}
    assert reasons(asked("--tp-size 1", host=tiny)) == {}


def test_kimi_s_48_gb_a_rank_are_told_to_fit() -> None:
    flags = f"--tp-size 8 {CACHE} --hicache-size 48 --context-length 65536"
    assert "host_ram_short" not in reasons(asked(flags, model=KIMI))
