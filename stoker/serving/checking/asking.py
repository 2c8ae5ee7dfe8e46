"""A question made of words and facts: parsed by the catalogue of its version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stoker.serving.catalogue import parsing, recorded
from stoker.serving.catalogue.catalogue import Catalogue
from stoker.serving.checking.model import Model
from stoker.serving.checking.question import Gpus, Host, OtherServer, Question
from stoker.serving.weights.files import Draft, Files


@dataclass(frozen=True)
class Facts:
    """All that is known of the place where a server would run; nothing of it has to be."""

    gpus: Gpus = field(default_factory=Gpus)
    host: Host = field(default_factory=Host)
    model: Model | None = None
    draft: Draft | None = None
    files: Files | None = None
    others: tuple[OtherServer, ...] = ()
    software: Mapping[str, str] = field(default_factory=dict)


def question(
    name: str,
    sglang: str,
    words: Sequence[str],
    env: Mapping[str, str],
    facts: Facts,
    *,
    visible: int | None = None,
    catalogue: Catalogue | None = None,
) -> Question:
    """One server's question; without a catalogue the one that was recorded of its version."""
    known = catalogue or recorded.load(sglang)
    parsed, _ = parsing.parse(tuple(words), known)
    return Question(
        name=name,
        sglang=sglang,
        words=tuple(words),
        env=env,
        parsed=parsed,
        catalogue=known,
        gpus=facts.gpus,
        host=facts.host,
        model=facts.model,
        draft=facts.draft,
        files=facts.files,
        others=facts.others,
        visible=visible,
        software=facts.software,
    )
