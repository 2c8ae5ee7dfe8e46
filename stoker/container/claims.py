"""Which other containers of a node pass one of its GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from stoker.container import configuration
from stoker.container.configuration import Configuration
from stoker.container.devices import Card
from stoker.health import bdf, passed
from stoker.health.passed import Passthrough
from stoker.refused import Refused

Numbers = Mapping[str, tuple[int, int]]


def check(
    vmid: int,
    cards: Sequence[Card],
    texts: Mapping[int, str],
    numbers: Numbers,
    running: frozenset[int] = frozenset(),
    shared: bool = False,
    pci: Mapping[int, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Raises Refused, all conflicts at once, unless the GPUs are said to be shared.

    `pci`: lines `hostpciN: ...` of the node's VMs.
    """
    found = (*conflicts(vmid, cards, texts, numbers, running), *of_machines(vmid, cards, pci))
    if found and not shared:
        raise Refused("\n".join(found))


def conflicts(
    vmid: int,
    cards: Sequence[Card],
    texts: Mapping[int, str],
    numbers: Numbers,
    running: frozenset[int] = frozenset(),
) -> tuple[str, ...]:
    """A sentence for each other container that passes one of these GPUs of CT `vmid`, now or after
    its next start: running, stopped or a template, of anybody.

    `texts`: configuration files of all containers of the node; `numbers`: of its device nodes.
    """
    sentences = []
    for other in sorted(set(texts) - {vmid}):
        config = configuration.parse(texts[other])
        claims = _claims(config, cards, numbers)
        if claims:
            which = ", ".join(f"{card.node} ({card.uuid or card.bdf})" for card in claims)
            lines = "; ".join(dict.fromkeys(claims.values()))
            sentences.append(
                f"cannot pass {which} to CT {vmid}: {_who(other, config, other in running)} passes "
                f"it too: {lines}; take it out there, name another GPU, or say gpus_shared: True"
            )
    return tuple(sentences)


def of_machines(
    vmid: int, cards: Sequence[Card], pci: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    """A sentence for each VM whose next start takes one of these GPUs away from the node; one that
    names it by a mapping of the cluster is not known."""
    for other, lines in sorted(pci.items()):
        taken = {card: line for line in lines for card in cards if _slot(card.bdf) in _slots(line)}
        for card, line in taken.items():
            yield (
                f"cannot pass {card.node} ({card.uuid or card.bdf}) to CT {vmid}: VM {other} takes "
                f"it when it starts: {line}; take it out there, name another GPU, or say "
                "gpus_shared: True"
            )


def _slots(line: str) -> list[str]:
    """`01:00`, `0000:01:00.0;0000:01:00.1` -> the slots, as `_slot` has them."""
    said = line.partition(":")[2].partition(",")[0].strip().removeprefix("host=")
    return [_slot(bdf.normal(one)) for one in said.split(";") if _is_address(one)]


def _is_address(text: str) -> bool:
    try:
        bdf.normal(text)
    except ValueError:
        return False
    return True


def _slot(address: str) -> str:
    """Without the function: a VM is given all of a GPU."""
    return address.partition(".")[0]


def _who(vmid: int, config: Configuration, runs: bool) -> str:
    hostname = config.keys.get("hostname", "")
    name = f"CT {vmid} ({hostname})" if hostname else f"CT {vmid}"
    if config.keys.get("template") == "1":
        return f"template {name}"
    return name if runs else f"{name}, which is stopped,"


def _claims(config: Configuration, cards: Sequence[Card], numbers: Numbers) -> dict[Card, str]:
    """The line by which it passes each of these GPUs."""
    told = {}
    for seen in (passed.parse(text) for text in _states(config)):
        for card in cards:
            line = _line(seen, card, numbers)
            if line and card not in told:
                told[card] = line
    return told


def _states(config: Configuration) -> Iterator[str]:
    """What holds now and what the next start makes of it."""
    raw = "".join(f"{key}: {value}\n" for key, value in config.raw)
    for keys in (config.keys, config.coming):
        yield "".join(f"{key}: {value}\n" for key, value in keys.items()) + raw


def _line(seen: Passthrough, card: Card, numbers: Numbers) -> str:
    """Empty: it does not pass this GPU."""
    if card.minor is None:
        return ""
    for device in seen.devices:
        if device.path == card.node:
            return f"{device.key}: {device.path}"
    if card.minor not in seen.gpu_minors([card.minor], numbers):
        return ""
    if any(mount.path == card.node for mount in seen.raw_mounts):
        return f"lxc.mount.entry: {card.node}"
    rules = [rule.key for rule in seen.raw_allow if rule.unified and not rule.deny]
    # Root of an unprivileged container cannot make a node, so a rule alone gives it nothing.
    return "" if seen.unprivileged else "; ".join(rules)
