"""What the hierarchical cache takes of the host's memory on one rank."""

from dataclasses import dataclass

from stoker.serving.checking.question import Question
from stoker.serving.memory import releases, words
from stoker.serving.memory.cells import cell
from stoker.serving.memory.prediction import Prediction
from stoker.serving.memory.settings import Settings
from stoker.serving.memory.states import slot_bytes

_DEFAULT_RATIO = 2.0


@dataclass(frozen=True)
class HostPool:
    """Of one rank; GB are 10^9 bytes, as SGLang counts them here."""

    gb: float
    size: float | None
    """--hicache-size as given, GB; None: by ratio."""
    ratio: float
    pools: int
    """How many pools of `size` a rank allocates."""
    tokens: int | None
    """Tokens that the KV pool on the host holds; None: cannot be told."""

    def over(self, ranks: int) -> str:
        """The GB of so many ranks, as a product."""
        whole = f"= {ranks * self.gb:.0f} GB"
        if self.size is None:
            return f"{ranks} x {self.gb:.0f} GB ({self.ratio:g} x the KV pool of the GPU) {whole}"
        pools = f" x {self.pools} pools" if self.pools > 1 else ""
        beside = self.gb - self.size * self.pools
        more = f" with {beside:.1f} GB of index and draft each" if beside > 0.05 else ""
        return f"{ranks} x {self.size:g}{pools}{more} {whole}"


def host_pool(
    question: Question, settings: Settings, prediction: Prediction | str
) -> HostPool | str | None:
    """The pool; None: there is none, or SGLang sizes it by what is free; text: cannot be told."""
    parsed = question.parsed
    if not words.on(parsed, "enable_hierarchical_cache"):
        return None
    size = words.real(parsed, "hicache_size") or 0
    ratio = words.real(parsed, "hicache_ratio") or _DEFAULT_RATIO
    if size > 0:
        return _by_size(question, settings, size, ratio)
    given = "hicache_ratio" in parsed.given
    if not given and releases.has(question.sglang, "host_size_automatic"):
        return None
    if isinstance(prediction, str):
        return f"the host's pool is {ratio:g} times the GPU's, and {prediction}"
    return _by_ratio(question, settings, prediction, ratio)


def _by_size(question: Question, settings: Settings, size: float, ratio: float) -> HostPool:
    hybrid = question.model is not None and question.model.hybrid_mamba
    pools = 2 if hybrid and not releases.has(question.sglang, "host_size_split") else 1
    each = cell(question, settings)
    if isinstance(each, str) or not each.host:
        return HostPool(size * pools, size, ratio, pools, None)
    tokens = _paged(int(size * 1e9 // each.host), settings.page)
    beside = tokens * (each.index + _draft(question, each.draft)) / 1e9
    return HostPool(size * pools + beside, size, ratio, pools, tokens)


def _by_ratio(
    question: Question, settings: Settings, prediction: Prediction, ratio: float
) -> HostPool:
    each, held = prediction.cell, prediction.pool.states
    tokens = _paged(int(prediction.pool.tokens * ratio), settings.page)
    gb = tokens * (each.host + each.index + _draft(question, each.draft)) / 1e9
    if held is not None:
        gb += held.gib * ratio * 1.073741824
    return HostPool(gb, None, ratio, 1, tokens)


def slots(question: Question, settings: Settings, pool: HostPool) -> int | None:
    """State slots that the host's pool of a hybrid holds; None: not hybrid, or cannot be told."""
    size = slot_bytes(question, settings)
    if pool.size is None or pool.pools < 2 or not size:
        return None
    return int(pool.size * 1e9 // size) + 1


def _draft(question: Question, bytes_each: int) -> int:
    return bytes_each if releases.has(question.sglang, "draft_host_pool") else 0


def _paged(tokens: int, page: int) -> int:
    return (tokens // page + 1) * page
