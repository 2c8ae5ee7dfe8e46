"""A timer of systemd: whether it runs, and will after a boot."""

from dataclasses import dataclass

from pyinfra.api import FactBase, QuoteString, StringCommand


@dataclass(frozen=True)
class TimerState:
    """As systemd has it."""

    known: bool = False
    """There is such a unit, or was when systemd last looked."""
    enabled: bool = False
    active: bool = False
    needs_reload: bool = False
    """Its file is newer than what systemd has read."""


class Timer(FactBase[TimerState]):
    """The state of a timer, `unit` with its suffix. Source: `systemctl show`."""

    @staticmethod
    def default() -> TimerState:
        return TimerState()

    def command(self, unit: str) -> StringCommand:
        words = ["systemctl", "show"]
        for name in ("LoadState", "UnitFileState", "ActiveState", "NeedDaemonReload"):
            words += ["-p", name]
        return StringCommand(*words, QuoteString(unit))

    def process(self, output: list[str]) -> TimerState:
        shown = dict(line.split("=", 1) for line in output if "=" in line)
        return TimerState(
            known=shown.get("LoadState") not in ("not-found", None),
            enabled=shown.get("UnitFileState") == "enabled",
            active=shown.get("ActiveState") == "active",
            needs_reload=shown.get("NeedDaemonReload") == "yes",
        )
