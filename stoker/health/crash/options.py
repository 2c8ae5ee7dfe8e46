"""The options that a parser's usage text lists, for the one that was meant."""

from __future__ import annotations

import difflib
import re

_MOST = 4000
_OPTION = re.compile(r"--[A-Za-z0-9][\w-]{1,80}")
_ALIKE = 0.7


class Options:
    """What the usage text of the log lists; SGLang's is 1,600 lines long."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    def learn(self, line: str) -> None:
        """The options in one line of it."""
        if len(self.known) < _MOST:
            self.known.update(_OPTION.findall(line[:2000]))

    def nearest(self, flags: str) -> str:
        """The known ones that the first few unknown ones are nearest to; empty: none is near."""
        found = []
        for flag in _OPTION.findall(flags[:400])[:4]:
            dashed = flag.replace("_", "-")
            near = difflib.get_close_matches(dashed, self.known, n=1, cutoff=_ALIKE)
            if near or dashed != flag:
                found.append(near[0] if near else dashed)
        return ", ".join(found)
