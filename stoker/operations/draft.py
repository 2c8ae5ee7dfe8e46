"""Draft models as SGLang can load them."""

from collections.abc import Generator, Iterable

from pyinfra import host
from pyinfra.api import operation
from pyinfra.api.command import PyinfraCommand

from stoker.facts.interpreter import Interpreter
from stoker.facts.renamed_drafts import Renamed, RenamedDraft, script
from stoker.operations.refusal import refused
from stoker.refused import Refused


@operation()
def renamed(copies: Iterable[tuple[str, str]]) -> Generator[PyinfraCommand, None, None]:
    """Each draft has a copy beside it whose tensors have the names that SGLang loads.

    + copies: (source, destination), directories of the host

    The source stays as it is. A copy is made anew when its source has changed, appears whole or
    not at all, and is never written over a directory that is not one of ours.
    """
    wanted = list(dict.fromkeys(copies))
    twice = [place for _, place in wanted if [place for _, place in wanted].count(place) > 1]
    if twice:
        yield refused(f"cannot rename two drafts into {twice[0]}; give each its own directory")
        return
    try:
        python = _python()
    except Refused as error:
        yield refused(error)
        return
    found = [(pair, _state(*pair, python)) for pair in wanted]
    undone = [(pair, state) for pair, state in found if not state or state.state != "right"]
    if in_the_way := [state.error for _, state in undone if state and state.error]:
        yield refused("\n".join(in_the_way))
    elif not undone:
        host.noop(f"{len(wanted)} draft(s) have the right names")
    else:
        for pair, _ in undone:
            yield script(*pair, python, act=True)


def _python() -> str:
    """The distribution's own, which comes before this; a container has none named python3."""
    distribution = host.get_fact(Interpreter)
    if distribution is None:
        raise Refused(f"cannot rename drafts: {host.name} has no /etc/os-release; see its state")
    return f"/usr/bin/python{distribution.python}"


def _state(source: str, destination: str, python: str) -> Renamed | None:
    state: Renamed | None = host.get_fact(
        RenamedDraft, source=source, destination=destination, python=python
    )
    return state
