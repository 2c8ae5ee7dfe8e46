"""Stand-in: the section [pve:pending]: what a start applies, and what a command shows of it."""

from __future__ import annotations

from typing import Dict, List

from . import conf


def apply_all(config: conf.Config) -> bool:
    """Make every pending change the current one; False where there was none.

    Deletes go first, so a key both changed and deleted keeps the changed value, as measured.
    """
    changed = bool(config.pending.keys)
    for name in config.pending_deletes:
        config.now.keys.pop(name, None)
    config.set_pending_deletes([])
    config.now.keys.update(config.pending.keys)
    config.pending = conf.Section()
    return changed


def merged(config: conf.Config) -> Dict[str, str]:
    """The keys as `pct config` shows them: with pending changes and without pending deletes."""
    keys = dict(config.now.keys)
    for name in config.pending_deletes:
        keys.pop(name, None)
    changes = {name: text for name, text in config.pending.keys.items() if name != "delete"}
    return {**keys, **changes}


def listing(config: conf.Config) -> List[str]:
    """The lines of `pct pending`."""
    deletes = config.pending_deletes
    lines = []
    changes = {name: text for name, text in config.pending.keys.items() if name != "delete"}
    for name in sorted({*config.now.keys, *changes}):
        now, new = config.now.keys.get(name), changes.get(name)
        if now is not None and name in deletes:
            lines.append(f"del {name}: {_shown(name, now)}")
            continue
        if now is not None:
            lines.append(f"cur {name}: {_shown(name, now)}")
        if new is not None:
            lines.append(f"new {name}: {_shown(name, new)}")
    return lines


def _shown(name: str, text: str) -> str:
    return conf.encode(text) if name == "description" else text
