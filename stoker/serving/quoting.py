"""systemd's quoting, in this one place (systemd.syntax(7), systemd.service(5), systemd.exec(5)).

Control characters are refused everywhere: a unit file is lines, and no flag needs them.
"""

import re
from collections.abc import Iterable

from stoker.refused import Refused

_BARE = re.compile(r"[A-Za-z0-9_@+=:,./-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def text(value: str) -> str:
    """A setting's free text, such as Description: `%` would begin a specifier."""
    return _line(value).replace("%", "%%")


def word(value: str) -> str:
    """One word of ExecStart: no specifier, no variable, no splitting happens to it."""
    escaped = _escape(_line(value), '\\"').replace("%", "%%").replace("$", "$$")
    return escaped if _BARE.fullmatch(value) else f'"{escaped}"'


def command(words: Iterable[str]) -> str:
    """The value of ExecStart; its first word is the program, a plain absolute path."""
    program, *rest = words
    if not (program.startswith("/") and _BARE.fullmatch(program)):
        raise Refused(
            f"cannot write a unit: program {program!r} is not a plain absolute path; "
            "use letters, digits and _@+=:,./- only"
        )
    return " ".join([program, *map(word, rest)])


def environment(name: str, value: str) -> str:
    """One `Environment=` line. `$` means nothing here, `%` does."""
    escaped = _escape(_line(value), '\\"').replace("%", "%%")
    return f'Environment="{_name(name)}={escaped}"'


def env_file_line(name: str, value: str) -> str:
    """One line of an EnvironmentFile: neither specifiers nor variables, but shell-like escapes."""
    escaped = _escape(_line(value), '\\"`$')
    return f'{_name(name)}="{escaped}"'


def _escape(value: str, specials: str) -> str:
    return "".join("\\" + c if c in specials else c for c in value)


def _line(value: str) -> str:
    if _CONTROL.search(value):
        # The value may be a secret: it is not repeated.
        raise Refused("cannot write a unit: a value has a control character; remove it")
    return value


def _name(name: str) -> str:
    if not _ENV_NAME.fullmatch(name):
        raise Refused(
            f"cannot write a unit: {name!r} is no environment variable's name; "
            "use letters, digits and _"
        )
    return name
