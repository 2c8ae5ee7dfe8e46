"""What one start of a unit wrote, for whoever judges it elsewhere."""

from pyinfra.api import FactBase, QuoteString, StringCommand

MOST_BYTES = 4_000_000
# By transport: what diagnose.pyz said of it is no line of the server's.
_LOG = r"""
journalctl -q --no-pager -o cat _SYSTEMD_INVOCATION_ID="$1" _TRANSPORT=stdout + \
    INVOCATION_ID="$1" 2>/dev/null |
    tail -c "$2"
true
"""


class StartLog(FactBase[list[str]]):
    """Lines of the start with that invocation, systemd's own among them; the last 4 MB of them.

    None left, or no such start: `[]`. Source: the container's journal.
    """

    @staticmethod
    def default() -> list[str]:
        return []

    def command(self, invocation: str) -> StringCommand:
        script = QuoteString(_LOG)
        return StringCommand("sh", "-c", script, "sh", QuoteString(invocation), str(MOST_BYTES))

    def process(self, output: list[str]) -> list[str]:
        return output
