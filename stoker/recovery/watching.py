"""The watch: one look, written down for others; and, where told to, a container freed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from stoker.health import exposition, metrics
from stoker.health.exposition import Family, Sample
from stoker.health.remarks import remarks
from stoker.health.retained import retained
from stoker.health.seen import Container, Seen
from stoker.recovery.calling import Told
from stoker.recovery.past_runs import PastRuns
from stoker.recovery.replacing import replace
from stoker.recovery.watch_config import ALLOWED, Config, Ladder, Limit

BUSY = 12
Look = Callable[[], Seen]
Recover = Callable[[int, Sequence[str]], Told]


@dataclass(frozen=True)
class Climb:
    """What came of one container that the watch may free."""

    vmid: int
    code: int | None
    """What `recover` ended with; None: it goes on."""
    ran: bool
    """False: it was asked for its plan only."""
    runs: int
    """Of the last 24 hours, this one among them."""
    text: str
    """The reason in a sentence."""


def watch(config: Config, look: Look, recover: Recover, past: PastRuns) -> tuple[Climb, ...]:
    """Looks, writes, climbs where that is allowed, and then looks and writes again."""
    seen = look()
    write(config, seen, ())
    if config.ladder is None:
        return ()
    climbs = tuple(_climbs(config.ladder, seen, recover, past))
    write(config, look() if any(climb.ran for climb in climbs) else seen, climbs)
    return climbs


def write(config: Config, seen: Seen, climbs: Sequence[Climb]) -> None:
    """Both files, each in one piece; everybody may read them, and there is no secret in them."""
    replace(config.metrics, metrics.text(seen) + _metrics(climbs))
    replace(config.status, json.dumps(status(seen, climbs), indent=1) + "\n")


def status(seen: Seen, climbs: Sequence[Climb]) -> dict[str, object]:
    """The look as JSON has it, with what is stuck, what to know, and what the ladder did."""
    return {
        **asdict(seen),
        "stuck": [asdict(kept) for kept in retained(seen)],
        "remarks": list(remarks(seen, seen.time)),
        "ladder": [asdict(climb) for climb in climbs],
    }


def _climbs(ladder: Ladder, seen: Seen, recover: Recover, past: PastRuns) -> Iterator[Climb]:
    for vmid, limit in sorted(ladder.vmids.items()):
        container = seen.container(vmid)
        if container and _worth_asking(seen, container):
            yield _climb(vmid, limit, ladder.at_most_per_day, seen.time, recover, past)


def _worth_asking(seen: Seen, container: Container) -> bool:
    """Whether anything of it could be stuck: it holds a GPU, or memory of its GPUs is held."""
    holds = any(holder.owner.vmid == container.vmid for holder in seen.holders)
    return holds or any(kept.uuid in container.gpus for kept in retained(seen))


def _climb(
    vmid: int, limit: Limit, most: int, now: float, recover: Recover, past: PastRuns
) -> Climb:
    options = [word for unit in limit.units for word in ("--unit", unit)]
    options += ALLOWED[limit.up_to]
    try:
        before = len(past.within_a_day(vmid, now))
    except ValueError as error:
        return Climb(vmid, None, False, most, str(error))
    plan = recover(vmid, [*options, "--dry-run"])
    if not plan.changed:
        return Climb(vmid, plan.code, False, before, _last(plan))
    if before >= most:
        refused = (
            f"cannot free container {vmid} by itself: it was freed {before} times within a day, "
            f"at most {most} are allowed; see why it comes back, then recover {vmid} by hand"
        )
        return Climb(vmid, plan.code, False, before, refused)
    past.add(vmid, now)  # before it starts, so that a crash of ours cannot make it endless
    ended = recover(vmid, options)
    if ended.code == BUSY:
        past.forget(vmid, now)
        return Climb(vmid, ended.code, False, before, _last(ended))
    return Climb(vmid, ended.code, True, before + 1, _last(ended))


def _last(told: Told) -> str:
    return told.texts[-1] if told.texts else "it said nothing"


def _metrics(climbs: Sequence[Climb]) -> str:
    def each(values: dict[int, int]) -> tuple[Sample, ...]:
        return tuple(Sample(value, (("vmid", str(vmid)),)) for vmid, value in values.items())

    codes = {climb.vmid: climb.code for climb in climbs if climb.code is not None}
    families = [
        Family(
            "stoker_ladder_runs",
            "How often the watch freed the container within 24 hours.",
            each({climb.vmid: climb.runs for climb in climbs}),
        ),
        Family(
            "stoker_ladder_code",
            "What recover ended with, or would: 0 clean, else see the runbook.",
            each(codes),
        ),
    ]
    return exposition.text(families) if climbs else ""
