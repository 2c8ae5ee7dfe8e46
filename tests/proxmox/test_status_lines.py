"""Answers whose only words stand in the status line, as pveproxy's own are."""

from collections.abc import Iterator

import pytest

from stoker.proxmox import errors
from stoker.proxmox.access import Access
from stoker.proxmox.api import Session
from tests.proxmox.conftest import TOKEN, Clock
from tests.proxmox.scripted import Scripted, answer, scripted


@pytest.fixture
def server(fakepve_cafile: str) -> Iterator[Scripted]:
    with scripted(fakepve_cafile) as one:
        yield one


@pytest.mark.parametrize(
    ("line", "kind", "said"),
    [
        ("500 CT is locked (backup)", errors.Locked, "it is locked (backup)"),
        ("500 cluster not ready - no quorum?", errors.NoQuorum, "has no quorum"),
        ("595 No route to host", errors.NodeOffline, "nothing was changed"),
        ("596 Connection timed out", errors.NodeOffline, "whether it was done is not known"),
        (
            "596 tls_process_server_certificate: certificate verify failed",
            errors.NodeOffline,
            "tls",
        ),
        ("597 Broken pipe", errors.NodeOffline, "whether it was done is not known"),
        ("401 No ticket", errors.Unauthorized, "No ticket"),
        ("403 Permission check failed", errors.Forbidden, "a privilege is missing"),
        ("500 hotplug problem - MTU size '9000'", errors.Rejected, "see pct pending"),
        ("500 something new", errors.ProxmoxError, "whether anything was changed it does not say"),
    ],
)
def test_a_write_that_fails_by_its_status_line(
    server: Scripted,
    fakepve_cafile: str,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    kind: type[errors.ProxmoxError],
    said: str,
) -> None:
    monkeypatch.setenv("STOKER_TOKEN", "s")
    access = Access.of(
        {"backend": "token", "token": TOKEN, "secret_env": "STOKER_TOKEN"}
        | {"host": "127.0.0.1", "port": server.port, "ca_file": fakepve_cafile}
    )
    server.answers = [answer("", line)]
    with pytest.raises(errors.ProxmoxError) as caught:
        Session(access, clock.sleep, clock).call("PUT", "nodes/pve1/lxc/200/config", {}, "do it")
    assert type(caught.value) is kind
    assert said in str(caught.value)
    assert len(server.requests) == 1


def test_a_form_keeps_what_proxmox_would_cut(
    server: Scripted, fakepve_cafile: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STOKER_TOKEN", "s")
    access = Access.of(
        {"backend": "token", "token": TOKEN, "secret_env": "STOKER_TOKEN"}
        | {"host": "127.0.0.1", "port": server.port, "ca_file": fakepve_cafile}
    )
    server.answers = [answer('{"data": null}')]
    given = {"tags": "a;b", "net0": "name=eth0,bridge=vmbr0"}
    Session(access, clock.sleep, clock).call("PUT", "config", given)
    assert server.requests[0].endswith("tags=a%3Bb&net0=name%3Deth0%2Cbridge%3Dvmbr0")
    assert given == {"tags": "a;b", "net0": "name=eth0,bridge=vmbr0"}
