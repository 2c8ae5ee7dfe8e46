"""A flag set that was looked at before anything is touched, with all that its proof needs."""

from dataclasses import dataclass, field

from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.evidence.fingerprint import Fingerprint
from stoker.serving.evidence.record import Record
from stoker.serving.evidence.states import State
from stoker.serving.flagset import FlagSet
from stoker.serving.memory.prediction import Prediction

GUESSED_WITHOUT_DRAFT = ("NGRAM",)
"""Speculation from the text itself: text that never repeats is no fault of it."""


@dataclass(frozen=True)
class Checked:
    """One flag set on one machine."""

    flagset: FlagSet
    fingerprint: Fingerprint
    state: State
    record: Record | None = None
    """The last evidence: of this fingerprint if the state is measured, else what is nearest."""
    differences: tuple[str, ...] = ()
    """What moved since that evidence; empty unless stale."""
    parsed: Parsed = field(default_factory=Parsed)
    """Its words as the installed SGLang understands them."""
    prediction: Prediction | None = None
    """Of its memory; None: it could not be predicted."""

    @property
    def predicted_tokens(self) -> int | None:
        """Size of the KV pool as it was predicted; None: it could not be."""
        return None if self.prediction is None else self.prediction.pool.tokens

    @property
    def drafted(self) -> bool:
        """Whether a draft guesses tokens ahead."""
        algorithm = self.parsed.get("speculative_algorithm")
        return algorithm is not None and str(algorithm).upper() not in GUESSED_WITHOUT_DRAFT
