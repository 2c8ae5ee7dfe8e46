"""Every reason that the command line and the environment give, in the order of the words."""

from collections.abc import Iterator
from dataclasses import replace

from stoker.serving.catalogue import agreement, recorded
from stoker.serving.catalogue.catalogue import Catalogue
from stoker.serving.catalogue.parsing import parse
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.flags import environment, speculation
from stoker.serving.flags.spans import shortened
from stoker.serving.flags.told import reason
from stoker.serving.versions import is_release


def check(question: Question) -> Iterator[Reason]:
    """Of one server. A version that nobody recorded is read as the nearest one that was, and only
    warned of."""
    catalogue = question.catalogue or recorded.nearest(question.sglang)
    if question.catalogue is None:
        yield _unrecorded(question.sglang)
    elif other := _other(question.sglang, catalogue):
        yield other
    for found in _found(question, catalogue):
        # Another version's parser refuses nothing of this one.
        yield found if question.catalogue else replace(found, severity="warn")


def _found(question: Question, catalogue: Catalogue) -> Iterator[Reason]:
    parsed, problems = parse(question.words, catalogue)
    for problem in problems:
        yield reason(problem, catalogue)
    yield from environment.check(question.env, catalogue)
    yield from speculation.check(
        replace(question, sglang=catalogue.sglang, parsed=parsed, catalogue=catalogue)
    )


def _unrecorded(version: str) -> Reason:
    nearest = recorded.nearest(version).sglang
    release = f"make flags VERSION={version}"
    return Reason(
        "version_unknown",
        "warn",
        f"what SGLang {version} knows was never recorded: its flags are read as those of {nearest}",
        release if is_release(version) else "write the release that is installed, such as 0.5.12",
    )


def _other(version: str, installed: Catalogue) -> Reason | None:
    """What is installed is not what it should be: what is installed counts, but it is told."""
    known = recorded.load(version)
    if installed.sglang != version:
        said = f"SGLang {installed.sglang} is installed where {version} should be"
    elif known is None or known.digest == installed.digest:
        return None
    else:
        differ = agreement.differences(known, installed)
        said = f"the installed SGLang {version} is not as it was published: {shortened(differ, 3)}"
    do = "install it anew from its lock, or keep in mind that somebody changed it"
    return Reason("catalogue_differs", "warn", said, do)
