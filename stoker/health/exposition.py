"""The text format of Prometheus, as the node exporter's textfile collector reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """One value with its labels."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()

    def line(self, metric: str) -> str:
        """As the format has it."""
        told = ",".join(f'{key}="{escaped(text)}"' for key, text in self.labels)
        number = f"{self.value:.6f}".rstrip("0").rstrip(".")
        return f"{metric}{{{told}}} {number}" if told else f"{metric} {number}"


@dataclass(frozen=True)
class Family:
    """One metric with all its samples."""

    name: str
    about: str
    """One line without a backslash."""
    samples: tuple[Sample, ...]
    kind: str = "gauge"


def text(families: Iterable[Family]) -> str:
    """The whole file; a family without samples is left out, samples are in order."""
    lines = []
    for family in families:
        told = sorted(sample.line(family.name) for sample in family.samples)
        if told:
            lines.append(f"# HELP {family.name} {family.about}")
            lines.append(f"# TYPE {family.name} {family.kind}")
            lines += told
    return "\n".join(lines) + "\n"


def escaped(label: str) -> str:
    """A label's value as the format wants it; other control characters are replaced."""
    quoted = label.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in quoted)
