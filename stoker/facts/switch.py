"""The switch that a run left in its middle, and the one that was undone without it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.serving import layout

_READ = r"""
[ ! -d "$1" ] || sed 's/^/open /' "$1/units"
[ ! -d "$1" ] || echo open
[ ! -f "$1-undone" ] || sed '1s/^/at /; 2,$s/^/undone /' "$1-undone"
true
"""


@dataclass(frozen=True)
class SwitchState:
    """Whether there is a journal, and what became of the last one."""

    open: bool = False
    """Nobody has confirmed it, and nobody has undone it yet."""
    units: tuple[str, ...] = ()
    """Those it touches."""
    undone: tuple[str, ...] = ()
    """Units of a switch that was undone and that nobody has been told of."""
    undone_at: datetime | None = None


class Switch(FactBase[SwitchState]):
    """Source: /var/lib/stoker/switch and what put_back.sh writes beside it."""

    @staticmethod
    def default() -> SwitchState:
        return SwitchState()

    def command(self) -> StringCommand:
        return StringCommand("sh", "-c", QuoteString(_READ), "sh", str(layout.SWITCH))

    def process(self, output: list[str]) -> SwitchState:
        rows = [line.partition(" ") for line in output]

        def all_of(key: str) -> tuple[str, ...]:
            return tuple(value for word, _, value in rows if word == key and value)

        at = all_of("at")
        return SwitchState(
            open=any(word == "open" for word, _, _ in rows),
            units=all_of("open"),
            undone=all_of("undone"),
            undone_at=datetime.fromtimestamp(int(at[0]), UTC) if at else None,
        )
