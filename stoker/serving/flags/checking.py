"""Every reason that the command line and the environment give, in the order of the words."""

from collections.abc import Iterator
from dataclasses import replace

from stoker.serving.catalogue import recorded
from stoker.serving.catalogue.parsing import parse
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.flags import environment, speculation
from stoker.serving.flags.told import reason


def check(question: Question) -> Iterator[Reason]:
    """Of one server. A version that nobody recorded is read as the nearest one that was."""
    if question.catalogue is None:
        yield _unrecorded(question.sglang)
    catalogue = question.catalogue or recorded.nearest(question.sglang)
    parsed, problems = parse(question.words, catalogue)
    for problem in problems:
        yield reason(problem, catalogue)
    yield from environment.check(question.env, catalogue)
    yield from speculation.check(replace(question, parsed=parsed, catalogue=catalogue))


def _unrecorded(version: str) -> Reason:
    nearest = recorded.nearest(version).sglang
    return Reason(
        "version_unknown",
        "warn",
        f"what SGLang {version} knows was never recorded: its flags are read as those of {nearest}",
        f"make flags VERSION={version}",
    )
