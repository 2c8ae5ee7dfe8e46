"""A change, step by step: each proved before the next begins, and put back if it is not."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pyinfra import logger
from pyinfra.api import OperationError

from stoker.facts.servers import Server, Servers
from stoker.facts.staging import Stages
from stoker.operations import from_node, preflight
from stoker.operations.following import say
from stoker.operations.foreign import clear_the_way
from stoker.operations.proved import Proofs
from stoker.operations.putting_back import left_by_a_run, put_back
from stoker.operations.removal import remove
from stoker.operations.standing import Machine, machine
from stoker.operations.starting import Bringing, bring_up, systemctl, take_down
from stoker.operations.switching import Switching
from stoker.refused import Refused
from stoker.serving.changing.journal import Journal, journal_of, mending
from stoker.serving.changing.lease import Lease
from stoker.serving.changing.planning import Plan, Step
from stoker.serving.deployment import Deployment
from stoker.serving.evidence.checked import Checked
from stoker.serving.following import Patience
from stoker.serving.unit import Unit


@dataclass(frozen=True)
class Change:
    """What is wanted, and how far one may go for it."""

    wanted: Deployment
    stop_foreign: bool = False
    candidate: bool = False
    """Flag sets without evidence may be tried."""
    patience: Patience = field(default_factory=Patience)
    lease: Lease = field(default_factory=Lease)


def change(state: Any, host: Any, wish: Change) -> bool:
    """Everything in order; False after a failure, which is told in sentences and last lines."""
    try:
        left_by_a_run(host)
        _Course(host, wish, machine(host, wish.wanted)).run()
    except (OperationError, Refused) as error:
        for line in str(error).splitlines():
            host.log_styled(line, fg="red", log_func=logger.error)
        return False
    return True


class _Course:
    """One change of one host, from facts that were read just before."""

    def __init__(self, host: Any, wish: Change, found: Machine) -> None:
        self.host, self.wish, self.found = host, wish, found
        self.units = {unit.name: unit for unit in found.units}
        self.ours = frozenset({*self.units, *found.servers})

    def run(self) -> None:
        """All of it; what fails ends it there, and the rest stays as it was."""
        plan = self.found.plan
        self._require(plan)
        if plan.mends:
            self._mend([self.units[name] for name in plan.mends])
        elif self.found.reload:
            systemctl(self.host, "daemon-reload")
        starts = tuple(self.units[name] for name in plan.starts)
        bring_up(self.host, self._bringing(starts, self.found.right))
        for number, step in enumerate(plan.steps):
            with _said_untouched(plan.steps[number + 1 :]):
                self._take(step)
        remove(self.host, (*plan.leftover, *self.found.emptied), self.found.stale)

    def _require(self, plan: Plan) -> None:
        """Everything that can be known before anything is touched."""
        judged = [self.units[name] for name in plan.judged]
        fresh = judged + [
            self.units[name]
            for name in plan.starts
            if name not in self.found.right and name not in plan.judged
        ]
        _refuse_masked(fresh, self.found.servers)
        wish = self.wish
        checked: dict[str, Checked] = {}
        if judged:
            checked = preflight.require(self.host, wish.wanted, judged, wish.candidate)
        self.proofs = Proofs(self.host, checked)
        from_node.require_free(self.host, fresh)
        clear_the_way(self.host, fresh, self.ours, wish.stop_foreign)

    def _mend(self, units: list[Unit]) -> None:
        say(self.host, f"writing the files of {', '.join(u.name for u in units)} anew")
        switching = Switching(self.host, self.wish.lease)
        switching.begin(mending(units))
        try:
            switching.apply()
            switching.confirm()
        except OperationError:
            switching.undo()
            raise

    def _take(self, step: Step) -> None:
        """Switch to these units, or be back where it was."""
        comes = tuple(self.units[name] for name in step.comes)
        before: dict[str, Server] = self.host.get_fact(Servers)
        alive = [name for name, server in before.items() if server.alive]
        journal = journal_of(comes, step.goes, alive, self.host.get_fact(Stages))
        say(self.host, f"switching {', '.join(journal.units)}")
        switching = Switching(self.host, self.wish.lease)
        switching.begin(journal)
        try:
            self._switch(comes, journal, switching)
        except Exception as error:  # whatever it is: what served before has to serve again
            told = put_back(switching, journal, before, self.units, self.wish.patience)
            raise OperationError("\n".join([_words(error), *told])) from error
        self.proofs.record(comes)
        remove(self.host, step.goes)

    def _switch(self, comes: tuple[Unit, ...], journal: Journal, switching: Switching) -> None:
        switching.apply()
        if len(journal.units) > 1:
            # They need each other's places.
            take_down(self.host, journal.units, switching.beat)
        bring_up(self.host, self._bringing(comes, frozenset(), switching))
        switching.confirm()

    def _bringing(
        self, units: tuple[Unit, ...], right: frozenset[str], switching: Switching | None = None
    ) -> Bringing:
        plain = Bringing(units, self.ours, right, self.wish.patience)
        if switching is None:
            return plain
        return replace(
            plain, beat=switching.beat, served=lambda u: self.proofs.prove(u, switching.allow)
        )


def _refuse_masked(units: list[Unit], servers: Mapping[str, Server]) -> None:
    masked = [u.name for u in units if u.name in servers and servers[u.name].load == "masked"]
    if masked:
        names = " ".join(masked)
        raise OperationError(
            f"cannot start {', '.join(masked)}: masked, nothing was touched; once that is no "
            f"longer meant to be, systemctl unmask --runtime {names}"
        )


@contextmanager
def _said_untouched(later: tuple[Step, ...]) -> Iterator[None]:
    """A failure also says which units it kept from being changed."""
    try:
        yield
    except OperationError as error:
        names = [name for step in later for name in step.comes]
        left = [f"not touched: {', '.join(names)}"] if names else []
        raise OperationError("\n".join([str(error), *left])) from error


def _words(error: Exception) -> str:
    """What failed, in words; of what nobody expected its kind too."""
    if isinstance(error, OperationError):
        return str(error)
    return f"cannot go on: {type(error).__name__}: {error}; report it"
