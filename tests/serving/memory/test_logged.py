"""SGLang's own figures, read from its log, beside what was predicted."""

from stoker.serving.memory.comparing import line
from stoker.serving.memory.logged import Logged, read
from stoker.serving.memory.prediction import predict, worked_out
from tests.serving.memory.asked import asked

OLD = """\
[2026-03-23 11:02:17 TP0] server_args=ServerArgs(model_path='/m', mem_fraction_static=0.88, tp=2)
[2026-03-23 11:02:17 TP1] Load weight begin. avail mem=93.39 GB
[2026-03-23 11:02:17 TP0] Load weight begin. avail mem=93.41 GB
[2026-03-23 11:02:55 TP1] Load weight end. elapsed=37.90 s, type=A, avail mem=81.87 GB, mem usage=11.52 GB.
[2026-03-23 11:02:55 TP0] Load weight end. elapsed=37.60 s, type=A, avail mem=81.89 GB, mem usage=11.52 GB.
[2026-03-23 11:02:55 TP0] KV Cache is allocated. #tokens: 612480, K size: 35.05 GB, V size: 35.05 GB
[2026-03-23 11:02:55 TP0] Memory pool end. avail mem=11.21 GB
[2026-03-23 11:02:55 TP1] Memory pool end. avail mem=11.20 GB
[2026-03-23 11:03:20 TP0] Capture cuda graph end. Time elapsed: 9.1 s. mem usage=1.30 GB. avail mem=9.51 GB.
[2026-03-23 11:03:21 TP0] max_total_num_tokens=612480, chunked_prefill_size=8192, max_running_requests=2048, context_len=40960, available_gpu_mem=9.50 GB
"""  # noqa: E501
NEW = """\
Nov  3 14:21:01 ct sglang[900]: [2026-11-03 14:21:01] Load weight begin. avail mem=93.40 GB
Nov  3 14:21:45 ct sglang[900]: [2026-11-03 14:21:45] Load weight end. elapsed=43.90 s, type=Q, avail mem=48.10 GB, mem usage=45.30 GB.
Nov  3 14:21:45 ct sglang[900]: [2026-11-03 14:21:45] Mamba Cache is allocated. max_mamba_cache_size: 186, conv_state size: 0.10GB, ssm_state size: 4.38GB
Nov  3 14:21:45 ct sglang[900]: [2026-11-03 14:21:45] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 401152, KV size: 18.36 GB
Nov  3 14:21:45 ct sglang[900]: [2026-11-03 14:21:45] Memory pool end. avail mem=6.02 GB
"""  # noqa: E501


def test_the_figures_of_a_start_are_read_and_the_least_of_the_ranks_counts() -> None:
    assert read(OLD.splitlines()) == Logged(
        before_gib=93.39,
        after_gib=81.87,
        tokens=612480,
        kv_gib=70.10,
        slots=None,
        pool_left_gib=11.20,
        ready_left_gib=9.50,
        fraction=0.88,
    )


def test_the_wording_of_new_releases_and_of_the_journal_is_read_too() -> None:
    found = read(NEW.splitlines())
    assert found is not None
    assert (found.before_gib, found.after_gib, found.slots) == (93.40, 48.10, 186)
    assert (found.tokens, found.kv_gib, found.pool_left_gib) == (401152, 18.36, 6.02)


def test_the_last_start_of_a_log_counts() -> None:
    again = OLD.replace("93.39", "90.00").replace("612480", "500000")
    found = read((OLD + again).splitlines())
    assert found is not None
    assert (found.before_gib, found.tokens) == (90.00, 500000)


def test_a_draft_that_is_loaded_after_the_pool_changes_nothing_before_it() -> None:
    draft = "Load weight begin. avail mem=10.90 GB\nLoad weight end. x, avail mem=9.90 GB, y\n"
    lines = OLD.replace("[2026-03-23 11:03:20", draft + "[2026-03-23 11:03:20").splitlines()
    found = read(lines)
    assert found is not None
    assert (found.before_gib, found.after_gib) == (93.39, 81.87)


def test_a_log_without_figures_tells_none() -> None:
    assert read(["Uvicorn running on http://0.0.0.0:30000"]) is None


def test_predicted_stands_beside_real() -> None:
    logged = Logged(tokens=594600, pool_left_gib=3.70, ready_left_gib=2.10)
    told = line(predict(asked("--mem-fraction-static 0.95")), logged)
    assert told == (
        "predicted 594,011 tokens, real 594,600 (0.1 % off); predicted 3.5 GiB left after the "
        "pool, real 3.70; 0.0 to 3.3 after the graphs, real 2.10"
    )


def test_what_could_not_be_predicted_is_said() -> None:
    told = line(worked_out(asked("", model=None)), Logged(tokens=1000))
    assert told == "could not predict (the model's shape is not known), real 1,000 tokens"


def test_a_log_that_tells_nothing_is_said() -> None:
    told = line(None, None)
    assert told == "the log does not tell SGLang's own memory figures"
