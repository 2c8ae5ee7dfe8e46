"""Every check of what has to fit."""

from collections.abc import Iterator

from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.fitting import context, experts, gpus, heads, mamba, pages, parser, ports


def check(question: Question) -> Iterator[Reason]:
    """The reasons, none where the facts are not known."""
    yield from heads.check(question)
    yield from experts.check(question)
    yield from gpus.check(question)
    yield from ports.check(question)
    yield from context.check(question)
    yield from pages.check(question)
    yield from mamba.check(question)
    yield from parser.check(question)
