"""What would change of a container, or did, in the look of a unified diff."""

from collections.abc import Iterator, Mapping

from stoker.container.change import Change, Effect
from stoker.container.difference import Difference

_WIDTH = 160


def lines(vmid: int, name: str, what: Difference | Mapping[str, str]) -> list[str]:
    """`what`: the difference, or the options of a new container. Empty: there is nothing to say."""
    if isinstance(what, Difference):
        shown = list(_difference(what))
        return [f"CT {vmid} ({name}):", *shown] if shown else []
    return [
        f"CT {vmid} ({name}) is made:",
        *(f"+ {key}: {_one_line(value)}" for key, value in what.items()),
    ]


def _difference(difference: Difference) -> Iterator[str]:
    for change in difference.changes:
        yield from _change(change)
    for key, size in difference.growths:
        yield f"+ {key}: grows to {size}  ({Effect.NOW.value})"
    for change in difference.waiting:
        after = f"becomes {_one_line(change.after)}" if change.after is not None else "goes"
        yield f"  {change.key}: {after} {Effect.RESTART.value}; it is set already"
    for sentence in difference.told:
        yield f"! {sentence}"


def _change(change: Change) -> Iterator[str]:
    when = "(taken back before it came)" if change.reverted else f"({change.effect.value})"
    sides = [("-", change.before), ("+", change.after)]
    shown = [f"{side} {change.key}: {_one_line(text)}" for side, text in sides if text is not None]
    yield from shown[:-1]
    yield f"{shown[-1]}  {when}"


def _one_line(text: str) -> str:
    line = "".join(c if c.isprintable() and c != "\\" else _escaped(c) for c in text.rstrip())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


def _escaped(character: str) -> str:
    """Who may name a container has no say in what a terminal does."""
    return character.encode("unicode_escape").decode()
