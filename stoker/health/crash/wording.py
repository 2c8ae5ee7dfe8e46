"""The chosen line in words: one sentence of cause, one of what to do."""

from __future__ import annotations

import re
import string

from stoker.health import redaction
from stoker.health.crash import classes
from stoker.health.crash.runs import Candidate

LONGEST = 500
"""Characters of a line that is shown."""
_READ = 8 * LONGEST
_OPTIONAL = re.compile(r"\[([^\[\]]{1,200})\]")
PHASE_WORDS = {
    "ct_start": "while the container was started",
    "preflight": "in a check before the start",
    "exec": "when it was to be run",
    "flags": "while its command line was read",
    "import": "while its modules and the model's configuration were read",
    "dist_init": "while the ranks were finding each other",
    "load": "while the weights were loaded",
    "draft_load": "while the draft model's weights were loaded",
    "kv_pool": "while the KV cache was made",
    "hicache": "while the hierarchical cache was made",
    "graph_capture": "while CUDA graphs were captured",
    "scheduler_init": "at the end of the scheduler's start",
    "bind": "while the port was opened",
    "ready": "when it had just become ready",
    "prefill": "in a prefill",
    "decode": "in a decode",
    "serving": "while it served",
}
_OLD_LAST = (0, 5, 12)
_NEW_FIRST = (0, 5, 22)


def cause(one: Candidate, phase: str) -> str:
    """What happened, with the facts that the line has."""
    found = {key: value for key, value in one.found.items() if value}
    found.setdefault("gpu", one.gpu)
    found["which_gpu"] = f"GPU {found['gpu']}" if found["gpu"] else "a GPU"
    found["phase_words"] = PHASE_WORDS.get(phase, "")
    if one.rule is None:
        where = f" in {found['file']} ({found['function']})" if "file" in found else ""
        told = f"the program raised {found.get('raised', one.text)}{where}, which no row knows"
    else:
        told = filled(one.rule.cause, found)
    rank = f"{one.rank}: " if one.rank else ""
    return shown(f"{rank}{told}")


def filled(template: str, found: dict[str, str]) -> str:
    """The template with what was found; a part in brackets falls away where that is missing."""
    for _ in range(3):  # parts in parts
        template = _OPTIONAL.sub(lambda part: _part(part[1], found), template)
    text = string.Formatter().vformat(template, (), _Missing(found))
    return re.sub(r" {2,8}", " ", text).strip()


def action(name: str, phase: str, given: str, newer: bool | None, version: str) -> str:
    """What to do first for this class in this phase, in the flags of that version."""
    known = classes.known()[name]
    text = given or known.phases.get(phase) or known.action
    return text.replace(classes.GRAPH_FLAG, _graph_flag(newer, version))


def shown(text: str) -> str:
    """As it may be shown and kept: one line, no secrets, not too long."""
    # Cut before too: what hides secrets takes its time on a line that is all dashes.
    line = redaction.text(" ".join(text[:_READ].split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 4]} ..."


def _graph_flag(newer: bool | None, version: str) -> str:
    numbers = tuple(int(part) for part in re.findall(r"\d{1,6}", version)[:3])
    if numbers:
        newer = False if numbers <= _OLD_LAST else True if numbers >= _NEW_FIRST else newer
    if newer is None:
        return classes.GRAPH_FLAG_OF_ANY
    return "--cuda-graph-max-bs-decode" if newer else "--cuda-graph-max-bs"


def _part(text: str, found: dict[str, str]) -> str:
    wanted = [name for _, name, _, _ in string.Formatter().parse(text) if name]
    if not all(found.get(name) for name in wanted):
        return ""
    return text


class _Missing(dict):  # type: ignore[type-arg]
    def __missing__(self, key: str) -> str:
        return ""
