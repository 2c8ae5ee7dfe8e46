"""A problem of the parser as a reason: what is, and the one thing to do."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from stoker.serving.catalogue.catalogue import Catalogue
from stoker.serving.catalogue.problem import Kind, Problem
from stoker.serving.checking.reason import Reason
from stoker.serving.flags import renames
from stoker.serving.flags.spans import joined
from stoker.serving.flags.unknown import LONG_DASHES, ambiguous, options_name, unknown
from stoker.serving.flags.values import missing, refused, unwanted

Teller = Callable[[Problem, Catalogue], Reason]


def reason(problem: Problem, catalogue: Catalogue) -> Reason:
    """Of any kind of problem."""
    return TELLERS[problem.kind](problem, catalogue)


def abbreviated(problem: Problem, catalogue: Catalogue) -> Reason:
    """A beginning that fits one option."""
    (full,) = problem.names
    return Reason(
        "flag_abbreviated",
        "warn",
        f"{problem.word} is short for {full}: SGLang takes it, and does not start any more once a "
        "version has a second option that begins so",
        f"write {full}",
    )


def stray(problem: Problem, catalogue: Catalogue) -> Reason:
    """A word that no option takes."""
    option = problem.option
    if problem.word[0:1] in LONG_DASHES:
        said = "begins with a long dash, and so is no option"
        do = f"write {options_name(problem.word)}"
    elif option is None or option.dest == "help":
        said, do = "belongs to no option", "write it behind the option it belongs to, or remove it"
    elif option.kind in ("switch", "pair"):
        said = f"stands behind {option.names[0]}, a switch that takes no value"
        off = problem.word.lower() in ("false", "no", "off", "0")
        do = "remove both: a switch that is left out is off" if off else "remove it"
    else:
        said = f"is one word more than {option.names[0]} takes"
        do = "remove it, or quote the value if it is one with a space"
    return Reason("flag_unknown", "refuse", f"{problem.word!r} {said}", do)


def required(problem: Problem, catalogue: Catalogue) -> Reason:
    """An option without which SGLang does not start."""
    return Reason(
        "flag_bad_value",
        "refuse",
        f"{problem.word} is missing, and SGLang {catalogue.sglang} does not start without it",
        f"write {problem.word} and its value",
    )


def twice(problem: Problem, catalogue: Catalogue) -> Reason:
    """An option that is given more than once."""
    names = list(dict.fromkeys((problem.value, problem.word)))
    said = f"{names[0]} is given twice" if len(names) == 1 else f"{joined(names)} are one option"
    do = f"remove all but one {problem.word}" if len(names) == 1 else f"remove {names[0]}"
    switch = problem.option is not None and problem.option.kind == "switch"
    said += "" if switch else ", and only the last one counts"
    return Reason("flag_duplicate", "warn", said, do)


def deprecated(problem: Problem, catalogue: Catalogue) -> Reason:
    """An option that still does something, or nothing, or ends the start."""
    option = problem.option
    assert option is not None
    dead = option.kind == "switch" and option.const is None
    does = (
        "ends the start" if option.refused else "does nothing any more" if dead else "still works"
    )
    later = option.successor or renames.successor(problem.word, catalogue)
    return Reason(
        "flag_deprecated",
        "refuse" if option.refused else "warn",
        f"{problem.word} is deprecated in SGLang {catalogue.sglang} and {does}",
        f"use {later}" if later else "remove it",
    )


def helped(problem: Problem, catalogue: Catalogue) -> Reason:
    """`--help`."""
    said = f"{problem.word} makes SGLang print its options and end"
    return Reason("flag_bad_value", "refuse", said, "remove it")


TELLERS: Mapping[Kind, Teller] = MappingProxyType(
    {
        "unknown": unknown,
        "ambiguous": ambiguous,
        "abbreviated": abbreviated,
        "stray": stray,
        "value_refused": refused,
        "value_missing": missing,
        "value_unwanted": unwanted,
        "required": required,
        "twice": twice,
        "deprecated": deprecated,
        "help": helped,
    }
)
