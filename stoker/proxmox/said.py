"""What a `pct` printed: of a task on standard output, of an error on standard error."""

import re
from typing import Protocol

_LOCALE = re.compile(
    r"perl: warning:|\s+(LANG|LC_)\w* = |\s+are supported and installed|.*setlocale"
)
_USAGE = re.compile(r"(USAGE: )?pct \w+ .*[<\[]")


class Ran(Protocol):
    """How a command ended."""

    @property
    def code(self) -> int: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...


def warnings(ran: Ran) -> tuple[str, ...]:
    """What it warned of, on either of them, although it succeeded."""
    warned = [line for line in lines(ran.stdout) if line.lower().startswith("warn")]
    return (*warned, *complaints(ran.stderr))


def complaints(stderr: bytes) -> list[str]:
    """Of standard error what is about the work: nothing of Perl's locale, no usage."""
    return [
        line.strip()
        for line in text(stderr).splitlines()
        if line.strip() and not _LOCALE.match(line) and not _USAGE.match(line)
    ]


def lines(output: bytes) -> list[str]:
    """Those that are not empty."""
    return [line.strip() for line in text(output).splitlines() if line.strip()]


def text(output: bytes) -> str:
    """Bytes that are no UTF-8 are replaced."""
    return output.decode("utf-8", "replace")
