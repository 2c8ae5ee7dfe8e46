"""An option that the version does not have, and one that could be two of its options."""

from stoker.serving.catalogue import recorded
from stoker.serving.catalogue.catalogue import Catalogue
from stoker.serving.catalogue.problem import Problem
from stoker.serving.catalogue.spelling import spellings
from stoker.serving.checking.reason import Reason
from stoker.serving.flags import renames
from stoker.serving.flags.nearness import nearest
from stoker.serving.flags.spans import joined, shortened, span

LONG_DASHES = ("\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212")
"""What a word processor makes of two short ones."""


def unknown(problem: Problem, catalogue: Catalogue) -> Reason:
    """The parser would say `unrecognized arguments`."""
    name = problem.word
    row = renames.rows().get(name)
    others = recorded.knowing(name)
    said = f"SGLang {catalogue.sglang} has no option {name}"
    if row and row.of:
        said += f", which is {row.of}'s name"
    elif others:
        said += f"; {span(others)} {'has' if len(others) == 1 else 'have'} it"
    return Reason("flag_unknown", "refuse", said, _instead(name, others, catalogue))


def _instead(name: str, others: tuple[str, ...], catalogue: Catalogue) -> str:
    row = renames.rows().get(name)
    new = next((new for new in row.new if renames.known_to(new, catalogue)), "") if row else ""
    new = new or renames.successor(name, catalogue)
    if new:
        return f"use {new}{_company(new)}" + (f": {row.why}" if row and row.why else "")
    if row:
        return row.why or "remove it"
    if others:
        return f"remove it, or install one of {span(others)}"
    near = meant(name, catalogue)
    return f"use {near}{_company(near)}" if near else "remove it"


def meant(name: str, catalogue: Catalogue) -> str | None:
    """The option that the name most likely means: typed otherwise, or nearly so."""
    written = options_name(name)
    whole = spellings(catalogue).meant(written)
    return whole[0] if len(whole) == 1 else nearest(written, spellings(catalogue).ordered)


def options_name(typed: str) -> str:
    """A word as options are written: two dashes before it, dashes in it, no capitals."""
    return "--" + typed.lstrip("-" + "".join(LONG_DASHES)).replace("_", "-").lower()


def _company(name: str) -> str:
    others = renames.company().get(renames.named(name), ())
    return f", which goes with {joined(others)}" if others else ""


def ambiguous(problem: Problem, catalogue: Catalogue) -> Reason:
    """A beginning that fits two options or more."""
    name = problem.word
    said = f"{name} can be {joined(problem.names, 'or')} in SGLang {catalogue.sglang}"
    if len(problem.names) > 3:
        said = f"{name} can be {shortened(problem.names, 3)} in SGLang {catalogue.sglang}"
    row = renames.rows().get(name)
    new = next((new for new in row.new if renames.known_to(new, catalogue)), "") if row else ""
    new = new or renames.successor(name, catalogue)
    do = f"use {new}, the new name of what it was" if new else "write the one that is meant in full"
    return Reason("flag_ambiguous", "refuse", said, f"use {new}" if row and new else do)
