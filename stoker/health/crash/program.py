"""What the program says, in its messages and in those of what it calls."""

from __future__ import annotations

import re

from stoker.health.crash import last_words, phases, rules, sayings
from stoker.health.crash.exceptions import Exceptions, begins
from stoker.health.crash.line import Line
from stoker.health.crash.options import Options
from stoker.health.crash.quoting import OPENS
from stoker.health.crash.record import Record
from stoker.health.crash.sieve import BORING, DECODE, FOREIGN, NEW, PREFILL

_GONE_S = 3.0
"""A start of the next run is not told from the end of this one in less."""


class Program:
    """Reads its lines; gives each one's kind."""

    def __init__(self, record: Record, exceptions: Exceptions, version: str) -> None:
        self.record = record
        self.exceptions = exceptions
        self.version = version
        """SGLang's; empty: not known."""
        self.options = Options()
        self.letters = rules.letters() | phases.LETTERS | {"serv"}

    def read(self, line: Line, asked: bool) -> int:
        """`asked`: the line begins a request that goes on in the next one."""
        text = line.text
        if text.startswith(("Decode batch", "Prefill batch")):
            if self.exceptions.opened:
                self.exceptions.read(line)
            return DECODE if text[0] == "D" else PREFILL
        if text.startswith(OPENS):
            if self.exceptions.opened:
                self.exceptions.read(line)
            return NEW if asked else BORING
        if not text.strip() and not self.exceptions.opened:
            return FOREIGN
        if ' HTTP/1.1" 200' in text and '"POST /' in text and not self.record.run.phases.last:
            self.record.run.served = True
        if text.startswith("  ") and "[--" in text:
            self.options.learn(text)
        new = False
        if self.exceptions.opened or begins(line):
            new = self.exceptions.read(line)
        if line.voice == "nccl":
            return self._voiced(line, "nccl")
        if line.voice == "torch":
            return self._voiced(line, "torch")
        if text[: rules.KEY] in self.letters:
            new = self._message(line) or new
        for mark, pattern, voice in sayings.SAYINGS:
            if mark in text:
                new = self._said(line, pattern, voice) or new
        ended = last_words.read(line, self.record)
        return NEW if new or ended else BORING

    def _voiced(self, line: Line, voice: str) -> int:
        for rule, found in rules.of_voice(voice, line.text):
            self.record.add(line, rule, found)
            return NEW
        return BORING

    def _message(self, line: Line) -> bool:
        text, run = line.text, self.record.run
        if text.startswith("server_args=ServerArgs(") and run.phases.last not in ("", "import"):
            self.record.next(linked=False)
        if run.died and self._restarted(line):
            self.record.next(linked=False)
        if self.record.run.phases.mark(line.number, line.stamp, line.rank, text):
            return True
        for rule, found in rules.of_message(text, self.version):
            self.record.add(line, rule, found)
            return True
        return False

    def _restarted(self, line: Line) -> bool:
        """Whether this is the beginning of another start, though nothing of systemd's says so."""
        if not line.text.startswith(("Init torch distributed begin", "Init parallel begin")):
            return False
        died = self.record.run.endings[0]
        known = line.stamp is not None and died.stamp is not None
        return known and line.stamp - died.stamp >= _GONE_S  # type: ignore[operator]

    def _said(self, line: Line, pattern: re.Pattern[str], voice: str) -> bool:
        """What argparse, a compiler, the dynamic loader, a shell or a warning say."""
        found = pattern.match(line.text)
        if not found:
            return False
        for rule, groups in rules.of_voice(voice, found["said"]):
            if "flags" in groups:
                groups["nearest"] = self.options.nearest(groups["flags"])
            self.record.add(line, rule, groups, fatal=True if voice in sayings.LAST_WORDS else None)
            return True
        return False
