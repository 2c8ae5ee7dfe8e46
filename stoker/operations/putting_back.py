"""What served before a failed or abandoned switch, brought back and followed to its token."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyinfra import logger
from pyinfra.api import OperationError, QuoteString, StringCommand

from stoker.facts.servers import Server
from stoker.operations.following import follow
from stoker.operations.standing import port_of
from stoker.operations.switching import Switching, act, state_of, wait_undone
from stoker.serving import layout
from stoker.serving.changing.journal import Journal
from stoker.serving.following import Patience
from stoker.serving.unit import Unit

_UNDONE = "the container had put back by itself what was before: it had heard nothing of this run"


@dataclass(frozen=True)
class Former:
    """A unit as it was before the switch; what of it is needed to follow it."""

    name: str
    flagset: str
    model: str
    port: int
    local_url: str
    python: str
    requires: str
    gpus: tuple[int, ...]
    secrets: tuple[tuple[str, str], ...]


def put_back(
    switching: Switching,
    journal: Journal,
    before: Mapping[str, Server],
    wanted: Mapping[str, Unit],
    patience: Patience,
) -> list[str]:
    """Undo the switch, follow what ran before to its token, and say in lines what is now."""
    host = switching.host
    names = ", ".join(journal.units)
    host.log(f"{names}: failed; putting back what was before", log_func=logger.warning)
    try:
        early = [] if switching.undo() else [f"{names}: {_UNDONE}"]
        forget(host)
    except OperationError as error:
        return str(error).splitlines()
    ran = [_former(before[name], wanted.get(name)) for name in journal.ran]
    try:
        follow(host, ran, patience)
    except OperationError as error:
        said = f"{', '.join(journal.ran)}: put back as before this run, but not all of it serves:"
        return [*early, said, *str(error).splitlines(), *_still(journal, before)]
    again = ", ".join(journal.ran)
    answers = "answers" if len(ran) == 1 else "answer"
    served = [f"put back: {again} {answers} again, as before this run"] if ran else []
    return [*early, *served, *_still(journal, before)]


def left_by_a_run(host: Any) -> None:
    """Put back what an earlier run left in its middle, and tell of what was undone without one."""
    found = state_of(host)
    if found.open:
        host.log(
            f"an earlier run ended while it switched {', '.join(found.units) or 'files'}: what "
            "was before is put back first",
            log_func=logger.warning,
        )
        act(host, "undo", 0)
        wait_undone(host)
        forget(host)
    elif found.undone:
        when = f"{found.undone_at:%Y-%m-%d %H:%M:%S UTC}" if found.undone_at else "some time ago"
        host.log(
            f"the switch of {', '.join(found.undone)} was undone at {when}: its run had ended in "
            "the middle",
            log_func=logger.warning,
        )
        forget(host)


def forget(host: Any) -> None:
    """Nobody has to be told of what was undone: it has been said."""
    path = QuoteString(f"{layout.SWITCH}-undone")
    host.run_shell_command(StringCommand("rm", "-f", "--", path))


def _former(server: Server, wanted: Unit | None) -> Former:
    return Former(
        name=server.unit,
        flagset=server.flagset,
        model=server.model,
        port=port_of(server.local_url),
        local_url=server.local_url,
        python=server.python,
        requires=server.requires,
        gpus=server.gpus,
        # Most likely it has the same ones.
        secrets=wanted.secrets if wanted else (),
    )


def _still(journal: Journal, before: Mapping[str, Server]) -> Iterator[str]:
    """Of those that did not run before."""
    for name in (name for name in journal.units if name not in journal.ran):
        if name in before and before[name].exists:
            yield f"put back: the files of {name}, which did not run before this run either"
        else:
            yield f"undone: {name} was not there before this run, and is gone again"
