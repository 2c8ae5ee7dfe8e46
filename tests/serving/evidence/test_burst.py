from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.evidence.bench import bench
from stoker.serving.evidence.burst import MOST_AT_ONCE, MOST_S, Limits, burst, limits_of, told

QWEN = Limits(chunk=4096, running=64, context=8192, pool=230000)
TINY = Limits(chunk=256, running=8, context=512, pool=2048)


def parsed(**values: Any) -> Parsed:
    return Parsed(values=values, given=frozenset(values))


def test_a_servers_flags_are_its_limits_and_what_it_says_itself_holds() -> None:
    said = parsed(chunked_prefill_size=4096, max_running_requests=64, context_length=8192)
    assert limits_of(said) == Limits(4096, 64, None, 8192, None)
    info = {"chunk": 2048, "running": 48, "context": None, "pool": 116171}
    assert told(limits_of(said), info) == Limits(2048, 48, None, 8192, 116171)


def test_where_prefills_are_not_chunked_a_batch_has_another_limit() -> None:
    assert limits_of(parsed(chunked_prefill_size=-1, max_prefill_tokens=16384)).chunk == 16384


def test_a_default_of_thousands_of_requests_is_nobodys_wish() -> None:
    assert burst(told(Limits(chunk=256, context=512), {"running": 2048})).requests == 182
    assert burst(told(Limits(chunk=256, context=512), {"running": 8})).requests == 16


@pytest.mark.parametrize("limits", [QWEN, TINY, Limits(8192, None, None, 262144, 231120)])
def test_the_longest_prompts_are_several_chunks_and_short_ones_fill_the_batches(
    limits: Limits,
) -> None:
    """INC3: the server was up and healthy, and died in the first large prefill."""
    sized = burst(limits)
    (one, longest), (longs, _), (shorts, short) = sized.prompts
    assert one == 1
    assert limits.chunk is not None
    assert limits.context is not None
    assert longest > min(limits.chunk, limits.context // 2)
    assert sum(count * tokens for count, tokens in sized.prompts) > 3 * limits.chunk
    assert longs >= 2
    assert short < limits.chunk
    assert shorts > longs


def test_the_queue_is_kept_full_as_many_wait_as_run() -> None:
    assert burst(QWEN).requests == 128


def test_a_tiny_server_is_asked_for_little() -> None:
    sized = burst(TINY)
    assert sized.tokens < 5000
    assert sized.time_limit_s <= 200
    assert bench(TINY).prompts * 200 < 5000


NUMBER = st.none() | st.integers(min_value=1, max_value=2_000_000)


@given(st.builds(Limits, NUMBER, NUMBER, st.none() | st.integers(0, 4096), NUMBER, NUMBER))
def test_whatever_the_limits_are_every_request_fits_and_the_whole_is_bounded(
    limits: Limits,
) -> None:
    sized = burst(limits)
    assert 1 <= sized.requests <= max(MOST_AT_ONCE, 3)
    assert all(count >= 1 and tokens >= 1 for count, tokens in sized.prompts)
    room = min(limits.context or 1 << 40, limits.pool or 1 << 40)
    if room > 64:
        assert all(tokens + sized.generated < room for _, tokens in sized.prompts)
    assert 0 < sized.time_limit_s <= MOST_S
    measured = bench(limits)
    assert measured.input_tokens + measured.output_tokens <= max(room, 2)
    assert 1 <= measured.at_once <= measured.prompts <= 512


def test_bench_serving_gets_words_of_its_own_and_other_prompts_each_time() -> None:
    words = bench(TINY).words("/models/tiny", None, 7)
    assert words[:4] == ("--model", "/models/tiny", "--dataset-name", "random-ids")
    assert words != bench(TINY).words("/models/tiny", None, 8)
    assert bench(TINY).words("/m", "/t", 7)[2:4] == ("--tokenizer", "/t")
    assert bench(TINY).told == (
        "bench_serving, random-ids, 16 prompts of 128 tokens, each for 32 more, 8 at once"
    )
