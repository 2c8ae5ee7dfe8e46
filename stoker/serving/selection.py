"""Which SGLang versions a host's flag sets ask for."""

from collections.abc import Iterable
from pathlib import Path

from stoker.serving import loading, lock
from stoker.serving.lock import Release


def releases(root: Path, flagsets: Iterable[str]) -> list[Release]:
    """The releases that these flag sets name, each once, in their order.

    `root` is the directory that holds `locks/` and `group_data/flagsets/`. Refused with every
    problem of the flag sets, or when a version has no lock.
    """
    loaded = loading.load(root / "group_data" / "flagsets", flagsets)
    versions = dict.fromkeys(flagset.sglang for flagset in loaded)
    return [lock.load(root / "locks", version) for version in versions]


def renamed_drafts(root: Path, flagsets: Iterable[str]) -> list[tuple[str, str]]:
    """(source, destination) of each draft that is to be copied under other names, each once."""
    loaded = loading.load(root / "group_data" / "flagsets", flagsets)
    copies = [
        (flagset.draft.renamed_from, str(flagset.flags["speculative-draft-model-path"]))
        for flagset in loaded
        if flagset.draft
    ]
    return list(dict.fromkeys(copies))
