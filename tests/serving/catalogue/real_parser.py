"""The real parser of an SGLang, told by the Python that has it, beside what we read of it."""

import json
from typing import Any

from stoker.serving.catalogue.catalogue import Catalogue, Option
from stoker.serving.catalogue.spelling import spelled

DUMP = """
import argparse, json
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser()
ServerArgs.add_cli_args(parser)
def plain(value):
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        return repr(value)
print("ACTIONS " + json.dumps([{
    "names": action.option_strings, "dest": action.dest, "nargs": action.nargs,
    "required": action.required, "default": plain(action.default), "kind": type(action).__name__,
    "type": getattr(action.type, "__name__", None),
    "choices": None if action.choices is None else sorted(str(one) for one in action.choices),
} for action in parser._actions if action.dest != "help"]))
"""
"""A program for the Python of a venv: prints one line, `ACTIONS` and JSON."""


def actions(output: str) -> list[dict[str, Any]]:
    """Of what the program printed, among SGLang's own warnings."""
    (line,) = [line for line in output.splitlines() if line.startswith("ACTIONS ")]
    return list(json.loads(line.removeprefix("ACTIONS ")))


def differences(real: list[dict[str, Any]], catalogue: Catalogue) -> list[str]:
    """A line for each option that we read otherwise than the parser has it."""
    ours = {option.names[0]: option for option in catalogue.options}
    theirs = {action["names"][0]: action for action in real}
    found = [f"{name}: only one has it" for name in sorted(ours.keys() ^ theirs.keys())]
    for name in sorted(ours.keys() & theirs.keys()):
        for part, value in _parts(ours[name], theirs[name]).items():
            if value != theirs[name][part]:
                found.append(f"{name}: {part} is {theirs[name][part]!r}, and read as {value!r}")
    return found


def _parts(option: Option, action: dict[str, Any]) -> dict[str, Any]:
    """What argparse would hold of an option as we read it."""
    valued = option.kind in ("value", "list")
    return {
        "names": sorted(spelled(option), key=action["names"].index),
        "dest": option.dest,
        "nargs": _nargs(option),
        "required": option.required,
        "default": option.default,
        "choices": sorted(option.choices) if option.choices else None,
        "type": {"json": "loads"}.get(option.type, option.type)
        if valued and action["type"]
        else None,
    }


def _nargs(option: Option) -> Any:
    if option.kind == "list":
        return option.most or ("+" if option.fewest else "*")
    if option.optional_value:
        return "?"
    return None if option.kind == "value" else 0
