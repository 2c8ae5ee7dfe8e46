"""A row's own example as a question, and whether the row does on it what it must."""

import functools
from collections.abc import Iterator

from stoker.serving.catalogue.catalogue import Catalogue
from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Gpus, Host, Question
from stoker.serving.rules import subjects
from stoker.serving.rules.matching import holds
from stoker.serving.rules.rule import Example, Rule


def question(
    example: Example, parsed: Parsed | None = None, catalogue: Catalogue | None = None
) -> Question:
    """`parsed`: what the version's parser makes of its flags; None: the flags as they are, with no
    defaults."""
    values = {name.replace("-", "_"): value for name, value in example.flags.items()}
    return Question(
        name="example",
        sglang=example.sglang,
        words=(),
        env=example.env,
        parsed=parsed or Parsed(values, frozenset(values)),
        catalogue=catalogue,
        gpus=Gpus(**example.gpu),
        host=Host(**example.host),
        model=Model(**example.model) if example.model else None,
        software=example.software,
    )


def problems(rule: Rule) -> Iterator[str]:
    """What is wrong with its examples; empty: `fires` fires and `silent` does not."""
    if not _fires(rule, rule.fires):
        yield "fires: the row does not fire on it"
    if _fires(rule, rule.silent):
        yield "silent: the row fires on it"


def _fires(rule: Rule, example: Example) -> bool:
    ask = functools.partial(subjects.of, question(example))
    return holds(rule.when, ask, example.sglang)[0] is True
