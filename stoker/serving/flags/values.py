"""A value that an option does not take."""

from stoker.serving.catalogue import recorded
from stoker.serving.catalogue.catalogue import Catalogue, Option
from stoker.serving.catalogue.converting import WORDS
from stoker.serving.catalogue.problem import Problem
from stoker.serving.checking.reason import Reason
from stoker.serving.flags.nearness import closest_value
from stoker.serving.flags.spans import joined, shortened, span

_SECRET = ("key", "password", "token", "secret")


def refused(problem: Problem, catalogue: Catalogue) -> Reason:
    """Not among the choices, or not of the type."""
    option = problem.option
    assert option is not None
    if option.choices is None:
        wants = WORDS.get(option.type, option.type)
        said = f"{problem.word} takes {wants}, and {shown(problem)} is none"
        return _reason(said, f"write {wants}")
    said = f"{shown(problem)} is no choice of {problem.word} in SGLang {catalogue.sglang}"
    elsewhere = _taking(problem.word, problem.value)
    said += f", but of {span(elsewhere)}" if elsewhere else ""
    said += f": it takes {shortened(option.choices)}"
    if elsewhere:
        return _reason(said, f"use one that it takes, or install one of {span(elsewhere)}")
    near = closest_value(problem.value, option.choices)
    return _reason(said, f"use {joined(near, 'or')}" if near else "use one that it takes")


def _taking(name: str, value: str) -> tuple[str, ...]:
    """The recorded versions in which this is a choice."""
    known = ((version, recorded.option(version, name)) for version in recorded.knowing(name))
    return tuple(version for version, one in known if one and value in (one.choices or ()))


def missing(problem: Problem, catalogue: Catalogue) -> Reason:
    """Fewer words than the option needs."""
    option = problem.option
    assert option is not None
    wants = _wanted(option)
    return _reason(f"{problem.word} stands without its value", f"write {wants} behind it")


def _wanted(option: Option) -> str:
    if option.choices:
        return f"one of {shortened(option.choices)}"
    if option.kind == "list" and option.fewest > 1:
        return f"{option.fewest} values"
    return WORDS.get(option.type, "its value")


def unwanted(problem: Problem, catalogue: Catalogue) -> Reason:
    """`--switch=value`."""
    return _reason(
        f"{problem.word}={problem.value} gives a value to a switch, which takes none",
        f"write {problem.word} alone, or leave it out",
    )


def shown(problem: Problem) -> str:
    """The value as a message may show it."""
    secret = any(word in problem.word for word in _SECRET) and not problem.value.isdigit()
    return "its value" if secret else repr(problem.value)


def _reason(said: str, do: str) -> Reason:
    return Reason("flag_bad_value", "refuse", said, do)
