"""A host whose facts are given, and the commands that an operation would run on it."""

from typing import Any

from pyinfra.api import FileUploadCommand, FunctionCommand, StringCommand
from pyinfra.context import ctx_host

Shown = str | tuple[str, ...]


class Given:
    """Stands where pyinfra's host stands: answers facts from a table, keeps what it was told."""

    def __init__(self, facts: dict[type, Any], name: str = "gpu-a") -> None:
        self.name = name
        self.facts = facts
        self.told: list[str] = []

    def get_fact(self, fact: type, **arguments: Any) -> Any:
        return self.facts[fact]

    def noop(self, text: str) -> None:
        self.told.append(text)

    log = noop

    def log_styled(self, text: str, **style: Any) -> None:
        self.told.append(text)


def shown(command: Any) -> Shown:
    """A command as a test compares it."""
    if isinstance(command, StringCommand):
        return command.get_raw_value()
    if isinstance(command, FileUploadCommand):
        source = command.src if isinstance(command.src, str) else command.src.getvalue()
        return ("put", source, command.dest)
    assert isinstance(command, FunctionCommand)
    return ("refused", str(command.args[0]))


def commands(operation: Any, host: Given, **arguments: Any) -> list[Any]:
    """The commands themselves, in order."""
    with ctx_host.use(host):
        return list(operation._inner(**arguments))


def run(operation: Any, host: Given, **arguments: Any) -> list[Shown]:
    """What `operation` would do on `host`, in order."""
    return [shown(command) for command in commands(operation, host, **arguments)]
