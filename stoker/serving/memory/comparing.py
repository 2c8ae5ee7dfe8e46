"""What was predicted beside what SGLang then had: one line after each start."""

from stoker.serving.memory.logged import Logged
from stoker.serving.memory.prediction import Prediction


def line(prediction: Prediction | str | None, logged: Logged | None) -> str:
    """The sentence; with what is missing said in it."""
    if logged is None or logged.tokens is None:
        return "the log does not tell SGLang's own memory figures"
    left = logged.ready_left_gib
    real = f"{logged.tokens:,} tokens" + ("" if left is None else f", {left:.2f} GiB left")
    if prediction is None:
        return f"nothing was predicted, real {real}"
    if isinstance(prediction, str):
        return f"could not predict ({prediction}), real {real}"
    told = [_tokens(prediction, logged.tokens)]
    if logged.pool_left_gib is not None:
        told.append(
            f"predicted {prediction.left_gib:.1f} GiB left after the pool, "
            f"real {logged.pool_left_gib:.2f}"
        )
    if left is not None:
        told.append(f"{prediction.after_graphs} after the graphs, real {left:.2f}")
    return "; ".join(told)


def _tokens(prediction: Prediction, real: int) -> str:
    tokens = prediction.pool.tokens
    off = abs(tokens - real) / real if real else 1.0
    return f"predicted {tokens:,} tokens, real {real:,} ({off * 100:.1f} % off)"
