"""State slots of hybrid models: how many, and what they leave for the KV cache."""

from dataclasses import dataclass

from stoker.serving.checking.question import Question
from stoker.serving.memory import releases, words
from stoker.serving.memory.settings import Settings

GIB = 1 << 30
_DEFAULT_RATIO = 0.9


@dataclass(frozen=True)
class States:
    """What the state pool of one rank takes."""

    slots: int | None
    """None: the size of one is not known, only their share of the memory."""
    gib: float
    """The slots, with the one that pads."""
    verify_gib: float
    """States kept for drafts under verification."""
    budget_left_gib: float
    """What SGLang then plans the KV cache with."""
    per_request: int
    """Slots that one running request needs."""


def slot_bytes(question: Question, settings: Settings) -> int | None:
    """One request's state on one rank; None: the model's state layers are not known."""
    model = question.model
    if model is None:
        return None
    width = _WIDTHS.get(words.text(question.parsed, "mamba_ssm_dtype"))
    if model.linear is not None:
        line = model.linear
        one = line.conv_elements * line.conv_dtype_bytes
        one += line.state_elements * (width or line.state_dtype_bytes)
        return one * line.layers // (settings.attention_tp * settings.pp)
    if model.state_slot_bytes is None:
        return None
    # Told as float32, as SGLang keeps it unless asked; the convolution's part is about 2 %.
    return model.state_slot_bytes * (width or 4) // 4 // (settings.attention_tp * settings.pp)


_WIDTHS = {"float32": 4, "bfloat16": 2, "float16": 2}


def states(question: Question, settings: Settings, rest_gib: float) -> States | str:
    """How `rest_gib` is split between states and KV cache; or why that cannot be told."""
    size = slot_bytes(question, settings)
    ratio = slots_per_request(question)
    share = words.real(question.parsed, "mamba_full_memory_ratio") or _DEFAULT_RATIO
    fixed = _fixed(question, settings)
    if size is not None:
        return _known(settings, _Asked(size, share, ratio, fixed), rest_gib)
    if fixed is not None or settings.draft_tokens:
        return "the size of the model's state is not known"
    part = rest_gib * share / (1 + share)
    return States(None, part, 0.0, rest_gib - part, ratio)


def slots_per_request(question: Question) -> int:
    """State slots that a running request holds: 1 without the radix cache, else 3 to 5."""
    parsed = question.parsed
    if not radix(question):
        return 1
    strategy = words.text(parsed, "mamba_radix_cache_strategy") or words.text(
        parsed, "mamba_scheduler_strategy"
    )
    if strategy == "extra_buffer_lazy":
        return 4
    if strategy == "extra_buffer":
        return 4 if words.on(parsed, "disable_overlap_schedule") else 5
    return 3


def radix(question: Question) -> bool:
    """Whether states are kept for reuse: not where asked off or where the model cannot."""
    arch = question.model.arch if question.model else None
    cannot = releases.lists(question.sglang, "no_state_radix", arch)
    return not cannot and not words.on(question.parsed, "disable_radix_cache")


def _fixed(question: Question, settings: Settings) -> int | None:
    asked = words.whole(question.parsed, "max_mamba_cache_size")
    if asked:
        return asked // settings.dp
    if not radix(question) and settings.requests:
        return max(1, settings.requests // settings.dp)
    return None


@dataclass(frozen=True)
class _Asked:
    size: int
    share: float
    ratio: int
    fixed: int | None


def _known(settings: Settings, asked: _Asked, rest: float) -> States:
    pad = 1 if releases.has(settings.sglang, "padding_slot_counted") else 0
    first = 0.0
    if not releases.has(settings.sglang, "verify_states_in_ratio"):
        # Up to 0.5.12 the states of drafts are taken off before anything is split.
        first = asked.size * _requests(settings) * settings.draft_tokens / GIB
    budget = (rest - first) * asked.share / (1 + asked.share) * GIB
    slots = _solved(settings, asked, budget, pad) if asked.fixed is None else asked.fixed
    running = min(_requests(settings) or slots, slots // asked.ratio)
    drafts = asked.size * settings.draft_tokens / GIB
    planned = first or drafts * (running + pad)
    return States(
        slots=slots,
        gib=(slots + 1) * asked.size / GIB,
        verify_gib=drafts * (running + 1),
        budget_left_gib=rest - planned - (slots + pad) * asked.size / GIB,
        per_request=asked.ratio,
    )


def _requests(settings: Settings) -> int:
    return max(1, settings.requests // settings.dp) if settings.requests else 0


def _solved(settings: Settings, asked: _Asked, budget: float, pad: int) -> int:
    drafts = settings.draft_tokens
    if not releases.has(settings.sglang, "verify_states_in_ratio"):
        drafts = 0
    one = asked.size * (1 + drafts / asked.ratio)
    return max(0, int((budget - pad * asked.size * (1 + drafts)) // one))
