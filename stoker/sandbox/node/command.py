"""Stand-in: PVE::CLIHandler: a table of sub-commands, their arguments checked, their usage."""

from __future__ import annotations

import re
import sys
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from . import getopt, property_string, schema
from .died import BadParameters, BadRequest, Died

EXTRA = "extra-args"


class Request(NamedTuple):
    """One checked command line: the container, the named values, the words after them."""

    vmid: int
    values: Mapping[str, str]
    words: Sequence[str]

    def is_set(self, name: str) -> bool:
        """Whether a boolean option is given and true."""
        return property_string.truth(self.values.get(name))


class Command(NamedTuple):
    """A sub-command: what it does, its positional arguments, its own options by kind."""

    run: Callable[[Request], int]
    arguments: Sequence[str] = ("vmid",)
    options: Mapping[str, schema.Key] = {}
    takes_config: bool = False


BOOLEAN = schema.Key("boolean")
INTEGER = schema.Key("integer", low=0)
TEXT = schema.Key()


def run(program: str, table: Mapping[str, Command], words: Sequence[str]) -> int:
    """The exit code of one call; every failure's text is on stderr as Perl would have it."""
    if not words:
        return _usage_error("no command specified", program, table)
    name, command = words[0], table.get(words[0])
    if name == "help":
        print(_usage(program, table))
        return 0
    if command is None:
        return _usage_error(f"unknown command '{program} {name}'", program, table)
    try:
        return command.run(_request(command, words[1:]))
    except BadRequest as died:
        print(died.text, file=sys.stderr)
        print(usage_line(program, name, command), file=sys.stderr)
        return died.code
    except Died as died:
        sys.stdout.flush()
        print(died.text, file=sys.stderr)
        return died.code
    except BrokenPipeError:
        return 141


def usage_line(program: str, name: str, command: Command) -> str:
    """The usage line of one sub-command."""
    shown = [f"[<{word}>]" if word == EXTRA else f"<{word}>" for word in command.arguments]
    options = ["[OPTIONS]"] if command.options or command.takes_config or EXTRA in shown else []
    return " ".join([program, name, *shown, *options])


def _usage(program: str, table: Mapping[str, Command]) -> str:
    lines = [f"USAGE: {program} <COMMAND> [ARGS] [OPTIONS]"]
    lines += [f"       {usage_line(program, name, table[name])}" for name in sorted(table)]
    return "\n".join(lines)


def _usage_error(text: str, program: str, table: Mapping[str, Command]) -> int:
    print(f"ERROR: {text}\n{_usage(program, table)}", file=sys.stderr)
    return 255


def _request(command: Command, words: Sequence[str]) -> Request:
    keys = dict(command.options)
    if command.takes_config:
        keys.update({name: found for name in schema.names() if (found := schema.find(name))})
    options, rest = getopt.parse(words, {name: key.kind == "boolean" for name, key in keys.items()})
    values = {name: given[-1] for name, given in options.items()}
    extra: List[str] = []
    for argument in command.arguments:
        if argument == EXTRA:
            extra, rest = rest, []
        elif not rest:
            raise BadRequest("not enough arguments", 255)
        else:
            values[argument] = rest.pop(0)
    if rest:
        raise BadRequest("too many arguments", 255)
    complaints = {name: _complaint(name, values[name], keys) for name in values}
    problems = {name: text for name, text in complaints.items() if text}
    if problems:
        raise BadParameters(problems)
    return Request(int(values.get("vmid", "0")), values, extra)


def _complaint(name: str, value: str, keys: Dict[str, schema.Key]) -> Optional[str]:
    if name == "vmid":
        if not re.fullmatch(r"\d+", value):
            return f"type check ('integer') failed - got '{value}'"
        if not re.fullmatch(r"[1-9][0-9]{2,8}", value):
            return "invalid format - value does not look like a valid VM ID"
        return None
    key = keys.get(name)
    if key is None:
        return None
    if key.kind == "boolean":
        return property_string.check_boolean(value)
    if schema.find(name) is key:
        return schema.complaint(name, value)
    return property_string.check_integer(value) if key.kind == "integer" else None
