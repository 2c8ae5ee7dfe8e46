"""What a check says: reasons, each with what is and what to do; together the verdict."""

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["warn", "refuse"]
Word = Literal["ok", "warn", "refuse"]


@dataclass(frozen=True)
class Reason:
    """One thing that is wrong, or likely to go wrong."""

    name: str
    """Its class, such as `host_ram_short`: a stable name."""
    severity: Severity
    message: str
    """What is, with the figures; lower case, no full stop."""
    hint: str
    """The one thing to do."""
    sums: tuple[str, ...] = ()
    """The arithmetic behind it, a line each; empty where there is none."""
    rule: str = ""
    """The known-bad row that it comes from, by which it can be waived; empty: none."""

    @property
    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        told: dict[str, Any] = {
            "class": self.name,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
        }
        told |= {"rule": self.rule} if self.rule else {}
        return told | ({"sums": list(self.sums)} if self.sums else {})


@dataclass(frozen=True)
class Verdict:
    """Every reason, refusals first, and what was worked out on the way."""

    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be told for lack of a fact, what was waived, what is predicted."""

    def __post_init__(self) -> None:
        worst_first = sorted(self.reasons, key=lambda reason: reason.severity != "refuse")
        object.__setattr__(self, "reasons", tuple(worst_first))

    @property
    def word(self) -> Word:
        """`refuse` if any reason refuses, `warn` if any warns, else `ok`."""
        severities = {reason.severity for reason in self.reasons}
        if "refuse" in severities:
            return "refuse"
        return "warn" if severities else "ok"
