"""Command lines without their secrets: the rule of `stoker.facts.servers.REDACT`, in Python."""

import re
from collections.abc import Iterable

# argparse takes any unique beginning: `--ap` is `--api-key`.
_OPTION = r"--((ap|ad)[a-z-]*|[a-z-]*(key|token|secret|password))"


def redacted(words: Iterable[str]) -> tuple[str, ...]:
    """The words, with `***` for the value of each option that takes a secret."""
    shown, previous = [], ""
    for word in words:
        if re.fullmatch(_OPTION, previous):
            shown.append("***")
        elif re.match(_OPTION + "=", word):
            shown.append(re.sub("=.*", "=***", word, count=1))
        else:
            shown.append(word)
        previous = word
    return tuple(shown)
