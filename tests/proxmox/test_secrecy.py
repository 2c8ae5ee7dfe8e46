"""No secret is in a command, a log, a representation or an error, whatever happens."""

import logging
import re
from collections.abc import Callable
from typing import Any

import pytest

from stoker.proxmox.access import Access
from stoker.proxmox.api import Session, shared
from stoker.proxmox.by_api import ByApi
from stoker.proxmox.opening import backend
from tests.proxmox.conftest import PASSWORD, SECRET, TEMPLATE, Clock, Shell
from tests.proxmox.scripted import answer, scripted

_TICKET = re.compile(r"PVE:root@pam:|CSRFPreventionToken")


@pytest.fixture(params=["token", "ticket"])
def access(request: pytest.FixtureRequest, fakepve: Any) -> Access:
    data = request.getfixturevalue("data" if request.param == "token" else "ticket_data")
    return Access.of(data)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """Everything that anybody logs, however quiet its own logger is."""
    for name in ("", "urllib3", "requests", "proxmoxer", "proxmoxer.core", "proxmoxer.backends"):
        caplog.set_level(logging.DEBUG, logger=name)
    caplog.set_level(logging.DEBUG, logger="proxmoxer.backends.https")
    return lambda: "\n".join(record.getMessage() for record in caplog.records)


def no_secret(text: str) -> None:
    assert SECRET not in text
    assert PASSWORD not in text
    assert not _TICKET.search(text)


def test_in_a_life_of_a_container(
    fakepve: Any, access: Access, shell: Shell, log: Callable[[], str]
) -> None:
    way = backend(access, "pve1", shell)
    way.create(200, {"ostemplate": TEMPLATE, "rootfs": "local-lvm:8", "dev0": "/dev/null"})
    way.start(200)
    way.shutdown(200, 60, True)
    shown = repr((way, access, shared(access), vars(shared(access))))
    assert log()
    no_secret(log() + shown + str(shell.ran))


def test_in_every_refusal(fakepve: Any, access: Access, log: Callable[[], str]) -> None:
    way = backend(access, "pve1", Shell())
    assert isinstance(way, ByApi)
    said = []
    for status in (400, 401, 403, 404, 500, 501, 502, 595, 596):
        for html in (False, True):
            fakepve.fail("PUT", "/nodes/pve1/lxc/200/config", status, "no", html)
            said.append(raised(lambda: way.set(200, {"cores": "2"})))
    no_secret(log() + "\n".join(said))


@pytest.mark.parametrize("bad", [b"", answer("<html>"), answer("{}", length=99999), None])
def test_when_the_connection_fails(
    access: Access, clock: Clock, fakepve_cafile: str, log: Callable[[], str], bad: bytes | None
) -> None:
    with scripted(fakepve_cafile) as server:
        server.answers = [bad]
        other = access.model_copy(
            update={"port": server.port, "timeout_s": 5 if bad is not None else 0.1}
        )
        said = raised(lambda: Session(other, clock.sleep, clock).post("nodes"))
        assert bad is None or SECRET in server.requests[0] or PASSWORD in server.requests[0]
    no_secret(log() + said)


def test_when_a_header_cannot_hold_it(
    fakepve: Any, data: dict[str, Any], monkeypatch: pytest.MonkeyPatch, log: Callable[[], str]
) -> None:
    monkeypatch.setenv("STOKER_TOKEN", f"{SECRET}\r\nX-More: 1")
    no_secret(raised(lambda: Session(Access.of(data)).get("version")) + log())
    assert fakepve.requests == []


def raised(act: Callable[[], object]) -> str:
    """What an error says, and those behind it that a traceback would show."""
    with pytest.raises(OSError) as caught:
        act()
    said, error = [], caught.value
    while error is not None:
        said.append(f"{error!r} {error}")
        error = None if error.__suppress_context__ else error.__context__  # type: ignore[assignment]
    return "\n".join(said)
