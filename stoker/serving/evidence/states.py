"""What a flag set's evidence is worth on this machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stoker.serving.evidence.fingerprint import Fingerprint, differences
from stoker.serving.evidence.record import Record
from stoker.serving.flagset import Status

State = Literal["measured", "reported", "stale", "unknown"]
"""measured: evidence of this very fingerprint; stale: only of others; reported: somebody says that
it worked; unknown: nobody says anything."""


@dataclass(frozen=True)
class Standing:
    """The state, and what it rests on."""

    state: State
    record: Record | None = None
    """The evidence of this fingerprint, else the newest of those that differ least."""
    differences: tuple[str, ...] = ()
    """Between that evidence and this machine; empty unless stale."""

    @property
    def words(self) -> str:
        """`stale: driver 580.65 -> 580.95`."""
        moved = ", ".join(self.differences)
        return f"{self.state}: {moved}" if moved else self.state


def unproved(status: Status | None, differences: Sequence[str] = ()) -> str:
    """Why a flag set is not measured: `its evidence is stale (driver 580.65 -> 580.95)`.

    `differences`: between its evidence and this machine; empty: it has none.
    """
    if differences:
        return f"its evidence is stale ({', '.join(differences)})"
    if status is None:
        return "nobody has said of it that it works, and no run of ours has measured it"
    return f"it is only reported (by {status.by}), and no run of ours has measured it here"


def standing(status: Status | None, records: Sequence[Record], now: Fingerprint) -> Standing:
    """`records`: the newest first. `status`: what the flag set's own file says."""
    compared = [(differences(record.fingerprint, now), record) for record in records]
    if compared:
        # Of equals the first, which is the newest.
        moved, record = min(compared, key=lambda pair: len(pair[0]))
        return Standing("stale" if moved else "measured", record, moved)
    return Standing(status.state if status else "unknown")
