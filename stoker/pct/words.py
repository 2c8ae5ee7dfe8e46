"""A command as the text of a POSIX shell: the one place of this package where shell is built."""

import re
import shlex
from collections.abc import Sequence

from stoker.pct.errors import Unsendable

# What tells a shell that is kept from one that was started for the text: $$, $0, $PPID.
_TELLING = re.compile(r"\$\{?[$0]|PPID|BASHPID")


def quoted(word: str) -> str:
    """One word, always in quotes: no keyword, alias, assignment or built-in is seen in it."""
    return "'" + word.replace("'", """'"'"'""") + "'"


def shell_text(command: Sequence[str] | str) -> str:
    """Words become that program with those arguments, a text what `/bin/sh -c` makes of it.

    A text is evaluated in a subshell of the shell that is there, which is a third quicker than to
    start one for it, unless it could tell the difference.
    Raises Unsendable for a NUL, which no program can be given, and for no words at all.
    """
    for word in [command] if isinstance(command, str) else command:
        if "\0" in word:
            raise Unsendable(
                f"cannot send the command {shlex.quote(word[:60])}: it has a NUL character at "
                f"position {word.index(chr(0))}, which no program can be given; remove it"
            )
    if isinstance(command, str):
        if not _TELLING.search(command):
            return f"eval {quoted(command)}"
        command = ["/bin/sh", "-c", command]
    if not command:
        raise Unsendable("cannot send the command: it has no words; name a program")
    return " ".join(["exec", *map(quoted, command)])
