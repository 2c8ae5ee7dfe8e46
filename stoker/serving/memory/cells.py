"""What one token costs in the KV cache of one rank, bytes, by the kind of attention.

`_compute_cell_size` of model_executor/pool_configurator.py: grouped heads are divided by the ranks
of attention (each keeps at least one), MLA's latent vector is not; of a hybrid only its layers of
full attention count; sparse attention (DSA) keeps an index beside it.
"""

from dataclasses import dataclass

from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Question
from stoker.serving.memory import cards, releases, words
from stoker.serving.memory.settings import Settings

_INDEX_BLOCK = 128
_FP4_BLOCK = 16
_OWN_DRAFT = ("DFLASH", "DSPARK")


@dataclass(frozen=True)
class Cell:
    """Bytes a token on one rank."""

    planned: int
    """What SGLang divides its budget by."""
    built: int
    """What the pool then takes, without a draft's: more for sparse attention up to 0.5.16."""
    host: int
    """What a token takes in the hierarchical cache's pool of KV."""
    index: int
    """What it takes more there for an index."""
    draft: int
    """What a draft model's own pool takes a token."""
    workspace: int
    """AITER's work space a token, taken out of the budget and not allocated at once."""


def cell(question: Question, settings: Settings) -> Cell | str:
    """The cell; or why it cannot be told."""
    model = question.model
    if model is None:
        return "the model's shape is not known"
    if model.sliding_window is not None:
        return "its layers with a sliding window have a pool of their own"
    if releases.lists(settings.sglang, "own_pools", model.arch):
        return f"the KV cache of {model.arch} has several pools"
    width = kv_bytes(question)
    layers = layers_here(model, settings)
    if width is None or layers is None:
        return "the model's layers or the width of its KV cache are not known"
    if not layers:
        return "no layer of the model has a KV cache"
    plain = _latent(model, width) if model.mla else _grouped(model, settings, width)
    if plain is None:
        return "the model's KV heads are not known"
    index, scaled = _index(model), _scaled(question, model, width)
    return _layered(question, settings, layers, (plain, index, scaled))


def _layered(
    question: Question, settings: Settings, layers: int, bytes_each: tuple[float, int, int]
) -> Cell:
    row, index, scaled = (int(one * layers) for one in bytes_each)
    counted = releases.has(settings.sglang, "sparse_scales_planned")
    planned = row + index + (scaled if counted else 0)
    draft = _draft(question, settings, planned, layers)
    return Cell(
        planned=planned + (draft if _counts_draft(settings) else 0),
        built=row + index + scaled,
        host=row + scaled,
        index=index,
        draft=draft,
        workspace=_workspace(question, settings),
    )


def kv_bytes(question: Question) -> float | None:
    """Bytes of one element of the KV cache; 0.5: FP4, its scales not counted; None: unknown."""
    asked = words.text(question.parsed, "kv_cache_dtype", "auto")
    if asked.startswith("fp8"):
        return 1
    if asked in ("bf16", "bfloat16", "float16"):
        return 2
    if asked != "auto":
        recipes = releases.has(question.sglang, "fp4_recipes")
        return 0.5 if asked == "fp4_e2m1" and not recipes else None
    model = question.model
    if model is not None and model.index_head_dim is not None:
        return _sparse_bytes(question)
    return model.kv_dtype_bytes if model else None


def aiter(question: Question) -> bool:
    """Whether attention is computed by AMD's kernels."""
    return words.text(question.parsed, "attention_backend") == "aiter"


def layers_here(model: Model, settings: Settings) -> int | None:
    """Layers with a KV cache on the rank that has most of them."""
    layers = model.full_attention_layers if model.hybrid_mamba else model.layers
    return None if layers is None else -(-layers // settings.pp)


def _sparse_bytes(question: Question) -> float | None:
    # SGLang makes it FP8 from compute capability 10.0 on, and bf16 below.
    return None if question.gpus.sm is None else 1 if question.gpus.sm >= 100 else 2


def _grouped(model: Model, settings: Settings, width: float) -> float | None:
    if model.kv_heads is None or model.head_dim is None:
        return None
    heads = max(1, model.kv_heads // settings.attention_tp)
    elements = heads * (model.head_dim + (model.v_head_dim or model.head_dim))
    return elements / 2 + elements / _FP4_BLOCK if width == 0.5 else elements * width


def _latent(model: Model, width: float) -> float | None:
    if model.kv_lora_rank is None or model.qk_rope_head_dim is None:
        return None
    elements = model.kv_lora_rank + model.qk_rope_head_dim
    return elements // 2 + elements // _FP4_BLOCK if width == 0.5 else elements * width


def _index(model: Model) -> int:
    if model.index_head_dim is None:
        return 0
    return model.index_head_dim + model.index_head_dim // _INDEX_BLOCK * 4


def _scaled(question: Question, model: Model, width: float) -> int:
    # FP8 with scales and unquantised rope: 656 bytes a layer where 576 are counted.
    raw = cards.is_amd(question.gpus) or _trtllm(question)
    if model.index_head_dim is None or model.kv_lora_rank is None or width != 1 or raw:
        return 0
    return model.kv_lora_rank // _INDEX_BLOCK * 4 + (model.qk_rope_head_dim or 0)


def _trtllm(question: Question) -> bool:
    parsed = question.parsed
    asked = {
        words.text(parsed, f"{kind}_{phase}_backend")
        for kind in ("nsa", "dsa")
        for phase in ("prefill", "decode")
    } - {""}
    if asked:
        return bool(asked & {"trtllm", "tilelang"})
    return question.gpus.sm is not None and question.gpus.sm >= 100


def _counts_draft(settings: Settings) -> bool:
    return settings.speculation in _OWN_DRAFT or releases.has(settings.sglang, "draft_in_cell")


def _draft(question: Question, settings: Settings, planned: int, layers: int) -> int:
    if settings.speculation in ("", "NGRAM") or not layers:
        return 0
    draft = question.draft.model if question.draft else None
    if draft is None or draft.layers is None:
        return planned // layers
    own = _grouped(draft, settings, kv_bytes(question) or 2)
    if settings.speculation in _OWN_DRAFT and own is not None:
        return int(own * draft.layers)
    return int(planned * draft.layers / layers)


def _workspace(question: Question, settings: Settings) -> int:
    model = question.model
    counted = releases.has(settings.sglang, "aiter_work_space_counted") and aiter(question)
    if not counted or model is None or model.mla:
        return 0
    heads = (model.heads or 0) // settings.attention_tp
    return 2 * heads * ((model.head_dim or 0) * 4 + 8)
