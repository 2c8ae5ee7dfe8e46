"""A host of recorded facts that takes down what is run on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from types import SimpleNamespace
from typing import Any

from pyinfra.api import FileUploadCommand, FunctionCommand, StringCommand
from pyinfra.context import ctx_host


class FakeHost:
    """`facts`: fact class -> its value, or a function of its arguments, or a list of values in
    turn, the last of which stays."""

    def __init__(self, facts: dict[Any, Any]) -> None:
        self.facts = facts
        self.done: list[str] = []
        self.said: list[str] = []
        self.noops: list[str] = []
        self.stdout = ""
        self.succeeds = True

    def get_fact(self, fact: Any, *args: Any, **kwargs: Any) -> Any:
        if fact not in self.facts:
            return fact.default()
        value = self.facts[fact]
        if callable(value):
            return value(*args, **kwargs)
        if isinstance(value, list):
            return value.pop(0) if len(value) > 1 else value[0]
        return value

    def run_shell_command(self, command: StringCommand, **_: Any) -> tuple[bool, Any]:
        self.done.append(command.get_raw_value())
        lines = self.stdout.splitlines()
        return self.succeeds, SimpleNamespace(stderr="", stdout=self.stdout, stdout_lines=lines)

    def log(self, text: str, **_: Any) -> None:
        self.said.append(text)

    def log_styled(self, text: str, **_: Any) -> None:
        self.said.append(text)

    def noop(self, why: str) -> None:
        self.noops.append(why)


@contextmanager
def here(facts: dict[Any, Any]) -> Iterator[FakeHost]:
    """Such a host as pyinfra's current one."""
    host = FakeHost(facts)
    with ctx_host.use(host):  # type: ignore[arg-type]
        yield host


def words(commands: Any) -> list[str]:
    """What an operation would do, in words."""
    return [_word(command) for command in commands]


def _word(command: Any) -> str:
    if isinstance(command, StringCommand):
        return str(command.get_raw_value())
    if isinstance(command, FileUploadCommand):
        return f"upload {command.dest}"
    assert isinstance(command, FunctionCommand)
    # pyinfra hands both over by these names, and neither to a function that has other ones.
    assert {"state", "host"} <= signature(command.function).parameters.keys(), command
    return f"{command.function.__name__} {command.args}"
