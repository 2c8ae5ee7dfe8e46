"""A run says that it lives, and no longer than is true."""

from collections.abc import Iterator

import gevent
import pytest
from pyinfra.api import OperationError

from stoker.operations import switching
from stoker.operations.switching import Switching
from stoker.serving.changing.journal import Journal
from stoker.serving.changing.lease import Lease
from tests.operations.hosts import FakeHost
from tests.operations.test_changing import course


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(switching, "time", made)
    return made


@pytest.fixture
def begun(clock: Clock) -> Iterator[Switching]:
    """A switch with a lease of 0.03 s by gevent's clock, which is the real one."""
    switch = Switching(FakeHost({}), Lease(0.03, margin_s=5))
    switch.begin(Journal(()))
    yield switch
    switch.confirm()


def test_while_the_run_goes_on_it_is_said_that_it_lives(begun: Switching) -> None:
    gevent.sleep(0.1)
    assert course(begun.host).count("renew") >= 3


def test_a_run_that_does_not_go_on_is_not_said_to_live(clock: Clock, begun: Switching) -> None:
    clock.now = 6
    gevent.sleep(0.05)
    assert course(begun.host) == ["begin"]


def test_it_may_wait_for_a_long_command_and_no_longer(clock: Clock, begun: Switching) -> None:
    begun.allow(100)
    clock.now = 104
    gevent.sleep(0.05)
    said = course(begun.host).count("renew")
    assert said
    clock.now = 106
    gevent.sleep(0.05)
    assert course(begun.host).count("renew") == said


def test_a_run_that_was_taken_for_dead_hears_of_it(begun: Switching) -> None:
    begun.host.succeeds = False
    gevent.sleep(0.05)
    begun.host.succeeds = True
    with pytest.raises(OperationError, match="undone meanwhile, since this run showed no sign"):
        begun.beat()


def test_a_second_switch_is_refused_with_the_reason() -> None:
    host = FakeHost({})
    host.succeeds = False
    with pytest.raises(OperationError, match="cannot begin a switch: another run's is under way"):
        Switching(host, Lease()).begin(Journal(()))
