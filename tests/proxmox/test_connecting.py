"""Connections that fail, hang, end or reach somebody else."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakepve.certs import make_cert

from stoker.proxmox.access import Access
from stoker.proxmox.api import AGAIN_S, Session
from stoker.proxmox.errors import ProxmoxError, TaskUnknown, Unreachable
from tests.proxmox.conftest import TOKEN, Clock
from tests.proxmox.scripted import Scripted, answer, scripted

GOOD = answer('{"data": {"version": "9.0"}}')
CUT = answer('{"data": {"ver', length=99999)
PAGE = answer("<html>Welcome</html>")
NOTHING_DONE = "nothing was changed"


@pytest.fixture
def server(fakepve_cafile: str) -> Iterator[Scripted]:
    with scripted(fakepve_cafile) as one:
        yield one


@pytest.fixture
def there(
    server: Scripted, clock: Clock, fakepve_cafile: str, monkeypatch: pytest.MonkeyPatch
) -> Session:
    """A session with the scripted server."""
    monkeypatch.setenv("STOKER_TOKEN", "s")
    return Session(access(server.port, fakepve_cafile), clock.sleep, clock)


def hasty(session: Session) -> Session:
    """The same one with 0.1 s for an answer."""
    short = session.access.model_copy(update={"timeout_s": 0.1})
    return Session(short, session.sleep, session.clock)


def access(port: int, ca_file: str, host: str = "127.0.0.1") -> Access:
    return Access.of(
        {"backend": "token", "token": TOKEN, "secret_env": "STOKER_TOKEN"}
        | {"host": host, "port": port, "ca_file": ca_file}
    )


def failure(session: Session, method: str) -> ProxmoxError:
    with pytest.raises(ProxmoxError) as error:
        session.call(method, "version", {}, "do it")
    return error.value


def test_all_requests_go_over_one_connection(server: Scripted, there: Session) -> None:
    server.answers = [GOOD]
    for _ in range(5):
        there.get("version")
        there.post("version")
    assert (server.connections, len(server.requests)) == (1, 10)


def test_a_write_goes_over_no_connection_that_was_idle(
    server: Scripted, there: Session, clock: Clock
) -> None:
    server.answers = [GOOD]
    there.get("version")
    clock.now += 3.5
    there.get("version")
    assert server.connections == 1
    clock.now += 3.5
    there.post("version")
    assert server.connections == 2


@pytest.mark.parametrize("bad", [b"", CUT], ids=["ended", "cut off"])
def test_a_read_whose_connection_drops_is_asked_again(
    server: Scripted, there: Session, clock: Clock, bad: bytes
) -> None:
    server.answers = [bad, bad, GOOD]
    assert there.get("version") == {"version": "9.0"}
    assert clock.slept == list(AGAIN_S[:2])


def test_a_read_is_asked_again_a_few_times_only(
    server: Scripted, there: Session, clock: Clock
) -> None:
    server.answers = [b""]
    error = failure(there, "GET")
    assert type(error) is Unreachable
    assert "ended before its answer" in str(error)
    assert (len(server.requests), clock.slept) == (4, list(AGAIN_S))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("bad", [b"", CUT], ids=["ended", "cut off"])
def test_a_write_is_never_sent_twice(
    server: Scripted, there: Session, method: str, bad: bytes | None
) -> None:
    server.answers = [bad]
    error = failure(there, method)
    assert type(error) is TaskUnknown
    assert str(error).startswith("cannot do it for certain: ")
    assert "look at the node's tasks" in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize(("method", "kind"), [("GET", Unreachable), ("PUT", TaskUnknown)])
def test_what_has_no_answer_is_given_up(
    server: Scripted, there: Session, method: str, kind: type[Exception]
) -> None:
    server.answers = [None]
    error = failure(hasty(there), method)
    assert type(error) is kind
    assert "did not answer within 0.1 s" in str(error)
    assert server.connections == 1


@pytest.mark.parametrize(("method", "kind"), [("GET", Unreachable), ("PUT", TaskUnknown)])
def test_an_answer_that_comes_byte_by_byte_is_given_up(
    server: Scripted, there: Session, method: str, kind: type[Exception]
) -> None:
    server.answers, server.pause_s = [GOOD], 0.05
    error = failure(hasty(there), method)
    assert type(error) is kind
    assert "did not answer within 0.1 s" in str(error)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (PAGE, "answers what is not Proxmox's (<html>Welcome</html>)"),
        (answer("[]"), "answers what is not Proxmox's"),
        (answer("[" * 200_000), "answers what is not Proxmox's"),
        (answer("<html>\x1b[2Jx "), "answers what is not Proxmox's (<html>·[2Jx)"),
        (answer("<html>Bad Gateway</html>", "502 Bad Gateway"), "answers 502"),
        (answer("", "504 Gateway Timeout"), "answers 504"),
        (answer("<html>none</html>", "404 Not Found"), "answers 404"),
    ],
)
def test_who_answers_in_between_is_told(
    server: Scripted, there: Session, bad: bytes, said: str
) -> None:
    server.answers = [bad]
    for method, kind in (("GET", Unreachable), ("POST", TaskUnknown)):
        error = failure(there, method)
        assert type(error) is kind
        assert said in str(error) and "is a proxy in between?" in str(error)
    assert len(server.requests) == 2


def test_nobody_is_followed_elsewhere(server: Scripted, there: Session) -> None:
    server.answers = [answer("", "302 Found", "Location: /elsewhere\r\n")]
    error = failure(there, "GET")
    assert type(error) is Unreachable
    assert "sends on to another address" in str(error)
    assert not any("elsewhere" in request for request in server.requests)


def test_the_environment_has_no_say(
    server: Scripted, there: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.setenv(name, "/nowhere")
    server.answers = [GOOD]
    assert there.get("version") == {"version": "9.0"}


def test_the_authorities_are_those_of_this_system(
    server: Scripted,
    there: Session,
    fakepve_cafile: str,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", fakepve_cafile)
    server.answers = [GOOD]
    known = Session(access(server.port, ""), clock.sleep, clock)
    assert known.get("version") == {"version": "9.0"}


@pytest.mark.parametrize("method", ["GET", "POST"])
class TestWhereNothingWasSent:
    """Then a write is as harmless as a read."""

    def test_nobody_listens(self, server: Scripted, there: Session, method: str) -> None:
        server.close()
        error = failure(there, method)
        assert type(error) is Unreachable
        assert "cannot be connected to" in str(error) and NOTHING_DONE in str(error)

    def test_the_name_has_no_address(
        self, fakepve_cafile: str, there: Session, method: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lookup(*_: Any, **__: Any) -> None:
            raise socket.gaierror(-2, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", lookup)
        error = failure(there, method)
        assert type(error) is Unreachable
        assert "Name or service not known" in str(error) and NOTHING_DONE in str(error)

    def test_its_certificate_is_of_another_authority(
        self, there: Session, server: Scripted, clock: Clock, method: str, tmp_path: Path
    ) -> None:
        other = make_cert(str(tmp_path))[0]
        error = failure(Session(access(server.port, other), clock.sleep, clock), method)
        assert type(error) is Unreachable
        assert f"is not signed by {other}" in str(error)
        assert "copy /etc/pve/pve-root-ca.pem" in str(error) and NOTHING_DONE in str(error)
        assert clock.slept == []

    def test_its_certificate_is_unknown_to_this_system(
        self, there: Session, server: Scripted, clock: Clock, method: str
    ) -> None:
        error = failure(Session(access(server.port, ""), clock.sleep, clock), method)
        assert type(error) is Unreachable
        assert "is not signed by an authority of this system" in str(error)

    def test_its_certificate_is_for_another_name(
        self, there: Session, fakepve_cafile: str, clock: Clock, method: str
    ) -> None:
        with scripted(fakepve_cafile, "127.0.0.2") as elsewhere:
            known = access(elsewhere.port, fakepve_cafile, "127.0.0.2")
            error = failure(Session(known, clock.sleep, clock), method)
        assert type(error) is Unreachable
        assert "is for another name" in str(error) and "set proxmox.host" in str(error)
        assert NOTHING_DONE in str(error)

    def test_it_speaks_no_tls(
        self, there: Session, fakepve_cafile: str, clock: Clock, method: str
    ) -> None:
        with scripted(None) as plain:
            plain.answers = [b"HTTP/1.1 400 Bad Request\r\n\r\n"]
            port = access(plain.port, fakepve_cafile)
            error = failure(Session(port, clock.sleep, clock), method)
        assert type(error) is Unreachable
        assert "does not speak TLS as Proxmox does" in str(error)

    @pytest.mark.parametrize("text", [None, "no certificate"])
    def test_there_is_no_authority(
        self, there: Session, clock: Clock, method: str, tmp_path: Path, text: str | None
    ) -> None:
        if text:
            (tmp_path / "ca.pem").write_text(text)
        error = failure(Session(access(1, str(tmp_path / "ca.pem")), clock.sleep, clock), method)
        assert type(error) is Unreachable
        assert "ca.pem (proxmox.ca_file)" in str(error) and "pve-root-ca.pem" in str(error)
