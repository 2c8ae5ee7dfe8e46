"""A container's GPU nodes, each opened as a server opens it.

pyinfra inventory/lab.py fact stoker.facts.opened_nodes.OpenedNodes user=sglang paths=[/dev/nvidia0]
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.container.opened import HUNG, NO_USER, NOT_TRIED, Opened

_PATIENCE_S = 15
"""For each path: without persistence each open starts its GPU, and each close ends it."""
_KINDS = {"device": "device", "file": "file", "other": "other", "none": ""}
# `<>` would make a file that is not there, so it meets devices only. An open that hangs in the
# driver cannot be killed: it is left behind, and what it said before names the path.
_OPEN = r"""
who=$1
shift
for path; do
    [ -c "$path" ] || continue
    echo "try $who $path"
    said=$( (exec 3<>"$path") 2>&1 ) && echo ok || { echo "no ${said##*: }" && closed=1; }
done
exit ${closed:-0}
"""
_READ = r"""
open=$1 user=$2 patience=$3
shift 3
export LC_ALL=C
stat -Lc 'is %t:%T %a %U:%G %n' -- "$@" 2>/dev/null
for path; do
    if [ -c "$path" ]; then echo "device $path"
    elif [ -f "$path" ]; then echo "file $path"
    elif [ -e "$path" ]; then echo "other $path"
    else echo "none $path"
    fi
done
opened() {
    if ! group=$(id -g -- "$user"); then
        echo nobody
    elif setpriv --reuid="$user" --regid="$group" --init-groups -- sh -c "$open" sh user "$@"; then
        return
    fi
    sh -c "$open" sh root "$@"  # what root can tells why the user cannot
}
# In a shell of its own, which keeps nothing of ours open if it is left behind.
( (opened "$@") 2>/dev/null </dev/null & ) | timeout "$patience" cat
true
"""


class OpenedNodes(FactBase[Sequence[dict[str, Any]]]):
    """`stoker.container.opened.Opened` of each path, as plain data for `read`. Nothing is left
    open. With persistence mode off, opening a GPU starts it, which takes seconds."""

    @staticmethod
    def default() -> Sequence[dict[str, Any]]:
        return []

    def command(self, user: str, paths: Sequence[str]) -> StringCommand:
        words = (_OPEN, user, str(_PATIENCE_S * len(paths)), *paths)
        return StringCommand("sh", "-c", QuoteString(_READ), "sh", *map(QuoteString, words))

    def process(self, output: list[str]) -> Sequence[dict[str, Any]]:
        return [asdict(one) for one in parse(output)]


def read(told: Sequence[dict[str, Any]]) -> tuple[Opened, ...]:
    """The same as our type."""
    return tuple(Opened(**one) for one in told)


def parse(output: Sequence[str]) -> list[Opened]:
    """What the script printed, a path each."""
    kinds: dict[str, str] = {}
    known: dict[str, tuple[tuple[int, int], str]] = {}
    said: dict[tuple[str, str], str] = {}
    trying = ("", "")
    for line in output:
        word, _, rest = line.partition(" ")
        if word == "is":
            number, mode, owner, path = rest.split(" ", 3)
            major, _, minor = number.partition(":")
            known[path] = (int(major, 16), int(minor, 16)), f"{mode} {owner}"
        elif word in _KINDS:
            kinds[rest] = _KINDS[word]
        elif word == "try":
            who, _, path = rest.partition(" ")
            trying = (who, path)
            said[trying] = HUNG
        elif word in ("ok", "no"):
            said[trying] = rest
    # After one that hangs nothing was tried, and that one is told.
    otherwise = "" if HUNG in said.values() else NO_USER if "nobody" in output else NOT_TRIED
    return [_opened(path, kind, known.get(path), said, otherwise) for path, kind in kinds.items()]


def _opened(
    path: str,
    kind: str,
    known: tuple[tuple[int, int], str] | None,
    said: Mapping[tuple[str, str], str],
    otherwise: str,
) -> Opened:
    if kind != "device" or known is None:
        return Opened(path, kind)
    user = said.get(("user", path), otherwise)
    root = said.get(("root", path), otherwise) if user else ""
    return Opened(path, kind, *known, root=root, user=user)
