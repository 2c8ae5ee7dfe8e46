"""The files of a model and of its draft, as far as a check needs them."""

from dataclasses import dataclass

from stoker.serving.checking.model import Model


@dataclass(frozen=True)
class Files:
    """A model's directory. What nobody looked at is None."""

    path: str = ""
    exists: bool | None = None
    index_shards: tuple[str, ...] | None = None
    """The file names that its index (or a single file) asks for."""
    present: tuple[str, ...] | None = None
    """Those that are there."""
    broken: tuple[str, ...] = ()
    """Sentences on files that cannot be right: cut short, no header, wrong tensors."""
    tokenizer: bool | None = None
    """Whether there is one."""
    think_end_tokens: int | None = None
    """Into how many tokens its tokenizer cuts `</think>`."""
    revision: str | None = None
    """Digest of config, index, sizes and headers: the same digest, the same model."""


@dataclass(frozen=True)
class Draft:
    """A draft model's directory and what was read there."""

    files: Files
    model: Model | None = None
    keys: tuple[str, ...] = ()
    """Names of its tensors."""
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """(name, shape) of the tensors that have to fit the target: embeddings and heads."""
