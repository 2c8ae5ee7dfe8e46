"""Output of a command, as it comes in pieces of bytes, in pyinfra's lines."""

import codecs

from pyinfra.api.output import echo, format_text
from pyinfra.connectors.util import CommandOutput, OutputLine


class Lines:
    """Collects lines of both outputs in the order of their arrival; shows each if asked to.

    What is not UTF-8 is replaced by U+FFFD: facts are text, and bytes go through files.
    """

    def __init__(self, show: bool, prefix: str) -> None:
        self._show, self._prefix = show, prefix
        self._lines: list[OutputLine] = []
        self._rest = {"stdout": "", "stderr": ""}
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {name: decoder(errors="replace") for name in self._rest}

    def take(self, name: str, data: bytes, last: bool = False) -> None:
        """More of the output `name`."""
        *whole, rest = (self._rest[name] + self._decoders[name].decode(data, last)).split("\n")
        self._rest[name] = rest
        for line in whole + ([rest] if last and rest else []):
            self._lines.append(OutputLine(name, line))
            if self._show:
                shown = line if name == "stdout" else format_text(line, "red")
                echo(f"{self._prefix}{shown}", err=True)

    def end(self) -> CommandOutput:
        """All of them."""
        for name in self._rest:
            self.take(name, b"", last=True)
        return CommandOutput(self._lines)
