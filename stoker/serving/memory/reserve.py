"""What SGLang itself would leave free on a GPU: its default --mem-fraction-static, as a sum.

MiB, by the release and the class of the card: `_handle_gpu_memory_settings` of server_args.py up to
0.5.18, arg_groups/memory_hook.py after it. It is for activations in a large prefill and for graphs,
so it is also the measure of what a flag set that names its own fraction must leave.
"""

from dataclasses import dataclass

from stoker.serving.checking.model import Model
from stoker.serving.memory import releases
from stoker.serving.memory.settings import Settings

_LARGE_CARD = 60 * 1024
_FLOOR = 10 * 1024
_UNKNOWN_CARD = {"old": 0.88, "new": 0.95}


@dataclass(frozen=True)
class Reserve:
    """What is to be left free on one GPU."""

    terms: tuple[tuple[str, float], ...]
    """(what for, MiB)."""
    floor: float
    """The least that SGLang leaves on such a card, MiB."""
    extra: tuple[tuple[str, float], ...] = ()
    """Added after the floor: draft models, DeepEP."""
    padding: float = 0
    """MiB of the terms that are SGLang's guess for data-parallel attention alone."""

    @property
    def mib(self) -> float:
        """All of it."""
        return max(sum(mib for _, mib in self.terms), self.floor) + self.beyond

    @property
    def beyond(self) -> float:
        """What is added after the floor, MiB."""
        return sum(mib for _, mib in self.extra)

    @property
    def sure_mib(self) -> float:
        """Without its guesses for speculation and data-parallel attention."""
        return max(sum(mib for _, mib in self.terms) - self.padding, self.floor)

    @property
    def sum(self) -> str:
        """The arithmetic, on one line."""
        told = " + ".join(f"{mib:,.0f} {what}" for what, mib in self.terms)
        raised = sum(mib for _, mib in self.terms) < self.floor
        told += f", raised to {self.floor:,.0f} on a card of this size" if raised else ""
        told += "".join(f" + {mib:,.0f} {what}" for what, mib in self.extra)
        return f"SGLang's own reserve: {told} = {self.mib:,.0f} MiB"


def reserve(settings: Settings, model: Model | None) -> Reserve:
    """The sum for these settings; an unknown model counts as one without MLA."""
    large = settings.memory_mib is not None and settings.memory_mib > _LARGE_CARD
    requests, tokens = settings.graphs.requests, _tokens(settings)
    padding = _padding(settings)
    terms = (
        ("for attention and the like", 512.0),
        (f"for {tokens:,} tokens at once", tokens * 1.5),
        (f"for {requests} requests in graphs", requests * 2.0 if _decodes(settings) else 0.0),
        ("for data-parallel attention", padding),
        (f"for {settings.tp * settings.pp} ranks", settings.tp * settings.pp / 8 * 1024),
        ("for prefill graphs", _prefill(settings, model)),
    )
    return Reserve(
        terms=tuple(term for term in terms if term[1]),
        floor=_FLOOR if large else 0,
        extra=_extra(settings),
        padding=padding,
    )


def _tokens(settings: Settings) -> int:
    if settings.role == "decode" and releases.has(settings.sglang, "roles_counted"):
        batch = settings.requests or settings.graphs.requests
        return max(batch * (settings.draft_tokens or 1), 2048)
    return max(settings.chunk, 2048)


def _decodes(settings: Settings) -> bool:
    if not releases.has(settings.sglang, "graphs_counted_when_on"):
        return True
    return settings.graphs.decode and settings.role != "prefill"


def _padding(settings: Settings) -> float:
    alone = settings.role == "prefill" and releases.has(settings.sglang, "roles_counted")
    if settings.dp == 1 or alone:
        return 0.0
    return settings.graphs.requests * settings.dp * (4.5 if settings.graphs.requests > 300 else 3)


def default_fraction(settings: Settings, model: Model | None) -> float | None:
    """--mem-fraction-static where none is given; None: cannot be told.

    Of a model that sees pictures it is multiplied by a factor from its vision part's size.
    """
    if settings.memory_mib is None:
        new = releases.has(settings.sglang, "draft_in_cell")
        return _UNKNOWN_CARD["new" if new else "old"]
    free = settings.memory_mib - reserve(settings, model).mib
    fraction = round(free / settings.memory_mib, 3)
    blind = settings.role == "decode" and releases.has(settings.sglang, "decode_role_sees_nothing")
    if model is None or not model.multimodal or blind:
        return fraction
    factor = vision_factor(model)
    return None if factor is None else fraction * factor


def vision_factor(model: Model) -> float | None:
    """By how much a vision part lessens the default; None: its size is unknown.

    A model with ears alone has a vision part of no layers, and its default is not lessened.
    """
    if model.vision_layers == 0:
        return 1.0
    if model.vision_layers is None or model.vision_hidden is None:
        return None
    size = model.vision_layers * model.vision_hidden**2 / (24 * 1024**2)
    return 0.95 * max(0.8, min(1.05, 1 - 0.1 * (size - 1)))


def _prefill(settings: Settings, model: Model | None) -> float:
    if not settings.graphs.prefill or releases.has(settings.sglang, "prefill_graphs_quarter"):
        return 0.0
    if settings.role == "decode" and releases.has(settings.sglang, "roles_counted"):
        return 0.0
    counted = not releases.has(settings.sglang, "prefill_graphs_asked")
    mla = counted and model is not None and model.mla
    deepep = settings.deepep and releases.has(settings.sglang, "deepep_prefill_graphs")
    return (1536.0 if mla else settings.graphs.prefill * 8.0) + (1024.0 if deepep else 0.0)


def _extra(settings: Settings) -> tuple[tuple[str, float], ...]:
    sglang, extra = settings.sglang, []
    if settings.speculation and releases.has(sglang, "speculation_reserve"):
        small = releases.has(sglang, "small_speculation_reserve")
        sizes = {"STANDALONE": 6144.0, "NGRAM": 0.0}
        extra.append(("for drafts", sizes.get(settings.speculation, 2048.0 if small else 4096.0)))
    if releases.has(sglang, "prefill_graphs_quarter"):
        extra.append(("for prefill graphs", settings.graphs.prefill * 8.0))
    if settings.deepep and settings.graphs.decode and releases.has(sglang, "deepep_reserve"):
        extra.append(("for DeepEP", 2048.0))
    return tuple(term for term in extra if term[1])
