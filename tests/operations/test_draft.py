"""What is done for a draft whose tensors need other names, by what is there of its copy."""

from typing import Any

import pytest

from stoker.facts.interpreter import Distribution, Interpreter
from stoker.facts.renamed_drafts import Renamed, RenamedDraft
from stoker.operations.draft import renamed
from tests.operations.given import Given, run

PAIR = ("/models/trained", "/models/renamed")


def done(state: Renamed | None, copies: Any = (PAIR,)) -> tuple[list[Any], list[str]]:
    host = Given({RenamedDraft: state, Interpreter: Distribution("debian", "12")})
    return run(renamed, host, copies=copies), host.told


def test_a_right_copy_needs_nothing() -> None:
    assert done(Renamed("right")) == ([], ["1 draft(s) have the right names"])


@pytest.mark.parametrize("state", [Renamed("absent"), Renamed("stale"), None])
def test_a_copy_that_is_not_there_or_not_right_is_made(state: Renamed | None) -> None:
    commands, _ = done(state)
    (command,) = commands
    assert command.startswith("/usr/bin/python3.11 -I -c ")
    assert '"source": "/models/trained", "destination": "/models/renamed", "act": true' in command


def test_what_is_in_the_way_ends_the_run_before_anything_is_written() -> None:
    error = "cannot rename /models/trained: /models/renamed is there and is not ours"
    assert done(Renamed("foreign", error))[0] == [("refused", error)]


def test_one_copy_for_several_flag_sets_is_made_once_and_two_never_into_one_place() -> None:
    assert len(done(Renamed("absent"), (PAIR, PAIR))[0]) == 1
    ((word, sentence),) = done(Renamed("absent"), (PAIR, ("/models/other", PAIR[1])))[0]
    assert word == "refused" and "two drafts into /models/renamed" in sentence
