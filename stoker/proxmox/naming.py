"""Names for what Proxmox names otherwise: hosts of an inventory, and its groups. Pure."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence


def is_word(hostname: str) -> bool:
    """Whether it is one word on a command line, and no pattern of `--limit`."""
    return bool(re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", hostname))


def nodes(found: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """(cluster, node) -> host: the node's name, with its cluster's where two are called so."""
    like = Counter(node.lower() for _, node in found)
    return {
        (cluster, node): node if like[node.lower()] == 1 else f"{node}.{cluster}"
        for cluster, node in found
    }


def groups(kind: str, words: Iterable[str]) -> dict[str, str]:
    """Word -> group, as Python names a variable: `tag_tp_8` for `tp-8`.

    Words that would share a name get an ending each, so that no group holds what another means; the
    one that is spelt so keeps it.
    """
    plain = {word: _plain(kind, word) for word in sorted(set(words))}
    like = Counter(plain.values())
    return {
        word: name if like[name] == 1 or name == f"{kind}_{word}" else f"{name}_{_ending(word)}"
        for word, name in plain.items()
    }


def ended(kind: str, names: Mapping[str, str]) -> dict[str, str]:
    """Those of `groups` that have an ending, for telling."""
    return {word: name for word, name in names.items() if name != _plain(kind, word)}


def _plain(kind: str, word: str) -> str:
    return f"{kind}_{re.sub(r'[^A-Za-z0-9_]', '_', word)}"


def _ending(word: str) -> str:
    return hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()[:6]
