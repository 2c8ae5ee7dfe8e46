"""What the distribution's package manager and user database say."""

from dataclasses import dataclass

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.facts.interpreter import READ_DISTRIBUTION, Distribution, distribution

_READ = (
    READ_DISTRIBUTION
    + """
user=$1
shift
getent passwd "$user" | awk -F: '{print "user", $6}'
dpkg-query --show --showformat 'package ${Package} ${db:Status-Status}\\n' "$@" 2>/dev/null
exit 0
"""
)


@dataclass(frozen=True)
class SystemState:
    """The distribution, which of the packages are installed, and the user's home."""

    distribution: Distribution | None = None
    installed: frozenset[str] = frozenset()
    home: str | None = None
    """None: there is no such user."""


class System(FactBase[SystemState]):
    """Whether these packages and this user are there, of `dpkg-query` and `getent`."""

    def command(self, account: str, packages: list[str]) -> StringCommand:
        words = [QuoteString(word) for word in (account, *packages)]
        return StringCommand("sh", "-c", QuoteString(_READ), "sh", *words)

    @staticmethod
    def default() -> SystemState:
        return SystemState()

    def process(self, output: list[str]) -> SystemState:
        rows = [line.split() for line in output]
        installed = {row[1] for row in rows if row[0] == "package" and row[2] == "installed"}
        homes = [row[1] for row in rows if row[0] == "user"]
        return SystemState(distribution(rows), frozenset(installed), homes[0] if homes else None)
