"""The distribution and its own Python."""

from dataclasses import dataclass

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.refused import Refused

READ_DISTRIBUTION = '[ -e /etc/os-release ] && . /etc/os-release && echo "os $ID $VERSION_ID"\n'
"""A line of shell that prints `os debian 12`; nothing where there is no saying."""

PYTHONS = {("debian", "12"): "3.11", ("debian", "13"): "3.13", ("ubuntu", "24.04"): "3.12"}
"""Distribution and release -> the Python it ships."""


@dataclass(frozen=True)
class Distribution:
    """`debian` and `12`."""

    name: str
    release: str

    @property
    def python(self) -> str:
        """The version that comes with it, `3.11`, installed yet or not. Refused for a distribution
        that we do not know."""
        found = PYTHONS.get((self.name, self.release))
        if found is None:
            known = ", ".join(" ".join(key) for key in PYTHONS)
            raise Refused(
                f"cannot install SGLang on {self.name} {self.release}: Stoker knows {known} only; "
                "make the container from one of these"
            )
        return found


def distribution(rows: list[list[str]]) -> Distribution | None:
    """From the words of the lines of a fact; None where no line says it."""
    for row in rows:
        if len(row) == 3 and row[0] == "os":
            return Distribution(row[1], row[2])
    return None


class Interpreter(FactBase[Distribution | None]):
    """What `/etc/os-release` says; None where there is none, or no host yet."""

    def command(self) -> StringCommand:
        return StringCommand("sh", "-c", QuoteString(READ_DISTRIBUTION))

    def process(self, output: list[str]) -> Distribution | None:
        return distribution([line.split() for line in output])
