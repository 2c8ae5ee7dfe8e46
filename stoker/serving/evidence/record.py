"""One measurement of a flag set: when, with what, how, and the figures."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from stoker.serving.evidence.fingerprint import Fingerprint

_CLOSED = {"extra": "forbid", "strict": True}
_Figure = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class Figures:
    """What one proof measured. None: not measured, or there is nothing to measure it with."""

    __pydantic_config__ = _CLOSED

    tokens_per_s: _Figure | None = None
    """Of the prefill burst: prompts' and generated tokens of all its requests by its seconds."""
    throughput: _Figure | None = None
    """Generated tokens a second, by SGLang's own bench_serving."""
    ttft_ms: _Figure | None = None
    """Median time to the first token, by bench_serving."""
    tpot_ms: _Figure | None = None
    """Median time per output token after the first, by bench_serving."""
    accept_length: _Figure | None = None
    """Tokens a step that speculation yields, as the server counts; 1.0: nothing is gained."""
    low_water_gib: _Figure | None = None
    """Least memory that was free on any of its GPUs during the burst, by nvidia-smi."""
    max_total_num_tokens: _Count | None = None
    """Size of the KV pool, as the server says."""
    predicted_tokens: _Count | None = None
    """The same as it was predicted before the start."""
    waited: Annotated[float, Field(ge=0, le=1)] | None = None
    """The part of that time which one of its threads stood ready and got no processor."""
    restarts: _Count = 0
    """Restarts of the unit while it was measured: a proof with any is none."""


@dataclass(frozen=True)
class Ran:
    """What was done to get the figures. Only figures of the same burst compare."""

    __pydantic_config__ = _CLOSED

    burst: str
    """The prompts: `22 of 8100 and 106 of 64 tokens, 32 tokens each, 128 at once`."""
    bench: str | None = None
    """bench_serving's words; None: it was not run."""


@dataclass(frozen=True)
class Proof:
    """What one proof of a running server found; it held, or there would be none."""

    figures: Figures
    ran: Ran
    log: tuple[str, ...] = ()

    @property
    def full(self) -> bool:
        """Whether it is evidence; else it only confirmed what an earlier one says."""
        return self.ran.bench is not None


@dataclass(frozen=True)
class Record:
    """A measurement, as it is kept beside the flag set."""

    __pydantic_config__ = _CLOSED

    date: datetime
    """UTC, whole seconds."""
    machine: str
    """The host's name in the inventory, and the unit's."""
    fingerprint: Fingerprint
    figures: Figures
    ran: Ran
    log: tuple[str, ...] = ()
    """SGLang's own lines of its memory and readiness, without secrets."""
