"""pyinfra's arguments of one command, as `@pct` understands them."""

from typing import Any, cast

from pyinfra.api.command import QuoteString, StringCommand
from pyinfra.connectors.util import extract_control_arguments


def words(unix: StringCommand) -> list[str] | str:
    """pyinfra's usual `sh -c '...'` as the text it stands for, other shells as words."""
    match unix.bits:
        case ("sh", "-c", QuoteString(obj=text)):
            return StringCommand(text).get_raw_value()
        case (str(shell), "-c", QuoteString(obj=text)) if shell.isidentifier():
            return [shell, "-c", StringCommand(text).get_raw_value()]
    return unix.get_raw_value()


def control(arguments: dict[str, Any]) -> dict[str, Any]:
    """What the connector itself must heed, taken out of the arguments."""
    return cast(dict[str, Any], extract_control_arguments(cast(Any, arguments)))


def as_root(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, less what only asks to be root, which we are: a bare container has no sudo."""
    kept = {key: value for key, value in arguments.items() if not key.endswith("_password")}
    for way in ("sudo", "doas", "dzdo"):
        if kept.get(f"_{way}_user") in (None, "", "root"):
            kept[f"_{way}"] = False
            kept[f"_{way}_user"] = None
    return kept


def stdin_bytes(stdin: Any) -> bytes:
    """Lines or a text, each ended as pyinfra's own connectors end them; bytes as they are."""
    if hasattr(stdin, "read"):
        stdin = stdin.read()
    if isinstance(stdin, bytes):
        return stdin
    lines = [stdin] if isinstance(stdin, str) else list(stdin)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines).encode()
