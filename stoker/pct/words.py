"""A command as the text of a POSIX shell: the one place of this package where shell is built."""

import shlex
from collections.abc import Sequence

from stoker.pct.errors import Unsendable


def quoted(word: str) -> str:
    """One word, always in quotes: no keyword, alias, assignment or built-in is seen in it."""
    return "'" + word.replace("'", """'"'"'""") + "'"


def shell_text(command: Sequence[str] | str) -> str:
    """Words become that program with those arguments, a text that of `/bin/sh -c`.

    Raises Unsendable for a NUL, which no program can be given, and for no words at all.
    """
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    for word in words:
        if "\0" in word:
            raise Unsendable(
                f"cannot send the command {shlex.quote(word[:60])}: it has a NUL character at "
                f"position {word.index(chr(0))}, which no program can be given; remove it"
            )
    if not words:
        raise Unsendable("cannot send the command: it has no words; name a program")
    return " ".join(["exec", *map(quoted, words)])
