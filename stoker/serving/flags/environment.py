"""Variables that nobody reads: SGLang and NCCL pass over them without a word."""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from stoker.serving.catalogue import recorded
from stoker.serving.catalogue.catalogue import Catalogue
from stoker.serving.checking.reason import Reason
from stoker.serving.flags.nearness import nearest
from stoker.serving.flags.spans import span
from stoker.serving.versions import key

DATA = Path(__file__).parent / "data"
_OURS = ("SGLANG_", "SGL_")
_NCCL = "NCCL_"
_ONLY_SPOKEN_OF = {"SGLANG_ENABLE_SPEC_V2": "0.5.14"}
"""Name -> the first version that only warns that it is gone (arg_groups/speculative_hook.py:69)."""


def check(env: Mapping[str, str], catalogue: Catalogue) -> Iterator[Reason]:
    """A reason for each variable of SGLang's or NCCL's that has no effect, or a new name."""
    for name in env:
        found = None
        if name.startswith(_OURS):
            found = _own(name, catalogue)
        elif name.startswith(_NCCL) and name not in others() and name not in catalogue.env:
            known = [one for one in others() if one.startswith(_NCCL)]
            found = _unread(name, "NCCL 2.28.9 and 2.30.7 do not read", known)
        if found:
            yield found


@functools.cache
def others() -> frozenset[str]:
    """Names that other packages of the same venv read: data/variables.json."""
    rows = json.loads((DATA / "variables.json").read_text())
    return frozenset(name for row in rows for name in row["names"])


def _own(name: str, catalogue: Catalogue) -> Reason | None:
    now = f"SGLANG_{name[len('SGL_') :]}" if name.startswith("SGL_") else name
    since = _ONLY_SPOKEN_OF.get(name)
    if since and key(catalogue.sglang) >= key(since):
        return _ended(name, "", catalogue)
    if name in catalogue.env or name in others():
        return None
    if name in catalogue.env_ended:
        return _ended(name, catalogue.env_ended[name], catalogue)
    if now != name and now in catalogue.env:
        return _renamed(name, now, catalogue)
    readers = tuple(one for one in recorded.versions() if _reads(one, now, name))
    if not readers:
        return _unread(name, "no recorded version of SGLang reads", catalogue.env)
    if key(readers[0]) > key(catalogue.sglang):
        said = f"SGLang {catalogue.sglang} does not read {name} yet, only {span(readers)}"
        return Reason("env_removed", "warn", said, "remove it")
    said = f"SGLang {catalogue.sglang} does not read {name}, only {span(readers)}: it does nothing"
    return Reason("env_removed", "warn", said, _successor(name, catalogue))


def _reads(version: str, *names: str) -> bool:
    ended = recorded.ended(version)
    forwarded = any(ended.get(name, "").startswith(_OURS) for name in names)
    return forwarded or any(recorded.reads(version, name) for name in names)


def _successor(name: str, catalogue: Catalogue) -> str:
    """What a version before this one said to use, if this one has it."""
    for version in reversed(recorded.versions()):
        new = recorded.ended(version).get(name, "")
        if new and (new in catalogue.env or new.startswith("--")):
            return f"use {new}"
    return "remove it"


def _ended(name: str, new: str, catalogue: Catalogue) -> Reason:
    if new in catalogue.env:
        return _renamed(name, new, catalogue)
    said = f"SGLang {catalogue.sglang} no longer reads {name}: it does nothing"
    return Reason("env_removed", "warn", said, f"use {new}" if new else "remove it")


def _renamed(name: str, new: str, catalogue: Catalogue) -> Reason:
    said = f"{name} is deprecated in SGLang {catalogue.sglang}, which still takes it for {new}"
    return Reason("env_deprecated", "warn", said, f"use {new}")


def _unread(name: str, nobody: str, known: Iterable[str]) -> Reason:
    prefix = name[: name.index("_") + 1]
    rest = [one.removeprefix(prefix) for one in known if one.startswith(prefix)]
    near = nearest(name.removeprefix(prefix), rest)
    do = f"use {prefix}{near}" if near else "remove it"
    return Reason("env_removed", "warn", f"{nobody} {name}: it does nothing", do)
