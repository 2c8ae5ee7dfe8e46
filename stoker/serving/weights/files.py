"""The files of a model and of its draft, as far as a check needs them."""

from dataclasses import dataclass

from stoker.serving.checking.model import Model


@dataclass(frozen=True)
class Files:
    """A model's directory. What nobody looked at is None."""

    path: str = ""
    exists: bool | None = None
    """Whether it is a directory; a single file (GGUF) is not looked into, and None."""
    index_shards: tuple[str, ...] | None = None
    """The file names that its index asks for; without one, those that their own numbers do."""
    present: tuple[str, ...] | None = None
    """Those that are there."""
    broken: tuple[str, ...] = ()
    """Sentences on files that cannot be right: cut short, no header, wrong tensors."""
    tokenizer: bool | None = None
    """Whether there is one."""
    think_end_tokens: int | None = None
    """Into how many tokens its tokenizer cuts `</think>`; above 1, it may be one more."""
    revision: str | None = None
    """Digest of config, index, sizes and headers: the same digest, the same model."""
    config: bool | None = None
    """Whether it has a config.json that can be read."""
    remote_tokenizer: bool | None = None
    """Whether its tokenizer is Python code beside it, which runs only with --trust-remote-code."""
    unfinished: int = 0
    """Files of a download that has not ended."""
    size_bytes: int = 0
    """All files that lie in it, those of subdirectories left out, bytes."""


@dataclass(frozen=True)
class Draft:
    """A draft model's directory and what was read there."""

    files: Files
    model: Model | None = None
    keys: tuple[str, ...] = ()
    """Names of its tensors; empty: nobody read them all."""
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """(name, shape) of the tensors that have to fit the target: embeddings and heads."""
    target_hidden: int | None = None
    """`target_hidden_size`: width of the target it was made for; None: its own."""
    aux_layers: int | None = None
    """How many of the target's hidden states it joins (EAGLE3); None: SGLang's default, 3."""
    vocabulary: int | None = None
    """`draft_vocab_size`: how many tokens it can propose; None: not said."""
    shares_head: bool = False
    """Its config asks for the target's lm_head (`draft_vocab_size` null), or ties its own."""
