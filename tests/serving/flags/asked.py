"""Questions for the checks of flags."""

from collections.abc import Mapping

from stoker.serving.catalogue import recorded
from stoker.serving.catalogue.parsing import parse
from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.flags import check


def question(
    *words: str,
    sglang: str = "0.5.12",
    env: Mapping[str, str] | None = None,
    model: Model | None = None,
) -> Question:
    """Of a server of this version with these words and no other facts."""
    line = ("--model-path", "/m", *words)
    catalogue = recorded.load(sglang)
    parsed, _ = parse(line, catalogue)
    return Question(
        name="a case",
        sglang=sglang,
        words=line,
        env=env or {},
        parsed=parsed,
        catalogue=catalogue,
        model=model,
    )


def reasons(
    *words: str,
    sglang: str = "0.5.12",
    env: Mapping[str, str] | None = None,
    model: Model | None = None,
) -> list[Reason]:
    return list(check(question(*words, sglang=sglang, env=env, model=model)))


def only(
    *words: str,
    sglang: str = "0.5.12",
    env: Mapping[str, str] | None = None,
    model: Model | None = None,
) -> Reason:
    (reason,) = reasons(*words, sglang=sglang, env=env, model=model)
    return reason
