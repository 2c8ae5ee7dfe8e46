"""Tickets: got by a password, kept, asked for again when they have ended."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from stoker.proxmox.access import Access
from stoker.proxmox.api import Session
from stoker.proxmox.errors import ProxmoxError, TaskUnknown, Unauthorized, Unreachable
from stoker.proxmox.login import RENEW_S
from tests.proxmox.conftest import PASSWORD, Clock
from tests.proxmox.scripted import Scripted, answer, scripted

LOGIN = ("POST", "/api2/json/access/ticket")


@pytest.fixture
def ticket(ticket_data: dict[str, Any], clock: Clock) -> Session:
    return Session(Access.of(ticket_data), clock.sleep, clock)


def logins(fakepve: Any) -> int:
    return sum(request[:2] == LOGIN for request in fakepve.requests)


def test_a_ticket_is_asked_for_once(fakepve: Any, ticket: Session) -> None:
    fakepve.add_ct(200)
    for _ in range(3):
        ticket.get("version")
    ticket.put("nodes/pve1/lxc/200/config", cores="2")
    assert logins(fakepve) == 1


def test_several_at_once_ask_for_one_ticket_and_keep_their_connections(
    fakepve: Any, ticket: Session, caplog: pytest.LogCaptureFixture
) -> None:
    fakepve.network["latency"], fakepve.time_scale = 0.02, 1
    with ThreadPoolExecutor(16) as pool:
        assert len(list(pool.map(ticket.get, ["version"] * 16))) == 16
    assert logins(fakepve) == 1
    assert "pool is full" not in caplog.text


def test_nothing_is_asked_before_it_is_needed(fakepve: Any, ticket: Session) -> None:
    assert fakepve.requests == []


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_a_ticket_that_ended_is_asked_for_again(fakepve: Any, ticket: Session, method: str) -> None:
    fakepve.add_ct(200)
    ticket.get("version")
    fakepve.revoke_tickets()
    ticket.call(method, "nodes/pve1/lxc/200/config", {"cores": "2"} if method == "PUT" else {})
    assert logins(fakepve) == 2


def test_an_old_ticket_is_replaced_before_it_ends(
    fakepve: Any, ticket: Session, clock: Clock
) -> None:
    ticket.get("version")
    clock.now += RENEW_S + 1
    ticket.get("version")
    assert logins(fakepve) == 2


def test_who_is_always_refused_is_asked_twice_only(fakepve: Any, ticket: Session) -> None:
    fakepve.ticket_ttl = -1
    with pytest.raises(Unauthorized, match=r"does not know root@pam or its secret .*invalid PVE"):
        ticket.get("version")
    assert logins(fakepve) == 2


def test_a_wrong_password_is_one_sentence(fakepve: Any, ticket: Session) -> None:
    fakepve.password = "another"
    with pytest.raises(Unauthorized, match=r"as root@pam: it says no; correct") as error:
        ticket.get("version")
    assert logins(fakepve) == 1
    assert PASSWORD not in str(error.value)


def test_a_second_factor_is_told(fakepve: Any, ticket: Session) -> None:
    fakepve.tfa = True
    with pytest.raises(Unauthorized, match="second factor; use an API token"):
        ticket.get("version")


def test_a_wrong_token_is_one_sentence(fakepve: Any, session: Session) -> None:
    fakepve.apitokens.clear()
    with pytest.raises(Unauthorized, match=r"the token stoker@pve!deploy .*make a new one"):
        session.get("version")
    assert len(fakepve.requests) == 1


@pytest.fixture
def server(fakepve_cafile: str) -> Iterator[Scripted]:
    with scripted(fakepve_cafile) as one:
        yield one


GIVEN = answer('{"data": {"ticket": "PVE:t", "CSRFPreventionToken": "c"}}')


@pytest.fixture
def there(server: Scripted, ticket_data: dict[str, Any], clock: Clock) -> Session:
    return Session(Access.of({**ticket_data, "port": server.port}), clock.sleep, clock)


def test_a_cookie_of_somebody_in_between_takes_no_ticket_away(
    server: Scripted, there: Session
) -> None:
    server.answers = [GIVEN, answer('{"data": 1}', more="Set-Cookie: lb=1\r\n")]
    there.get("version")
    there.get("version")
    assert "PVEAuthCookie=PVE:t" in server.requests[-1]
    assert "lb=1" not in server.requests[-1]
    assert server.connections == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "bad",
    [
        answer("<html>sign in</html>"),
        answer('{"data": null}'),
        answer("<html></html>", "503 Service Unavailable"),
        answer("", "302 Found", "Location: /elsewhere\r\n"),
    ],
)
def test_who_gives_no_ticket_is_told_and_nothing_more_is_sent(
    server: Scripted, there: Session, bad: bytes, method: str
) -> None:
    server.answers = [bad]
    with pytest.raises(ProxmoxError) as error:
        there.call(method, "version", {})
    assert type(error.value) is Unreachable
    assert not any("/version" in request for request in server.requests)
    assert not isinstance(error.value, TaskUnknown)
