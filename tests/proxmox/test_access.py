"""The host data `proxmox`, and where the secret is found."""

import os
from pathlib import Path
from typing import Any

import pytest

from stoker.proxmox.access import Access
from stoker.proxmox.errors import Unauthorized, Unreachable
from stoker.proxmox.secret import secret
from stoker.proxmox.tls import authorities
from stoker.refused import Refused

TOKEN = {
    "backend": "token",
    "host": "192.0.2.10",
    "token": "stoker@pve!deploy",
    "secret_env": "STOKER_TOKEN",
}


def without(key: str, **more: Any) -> dict[str, Any]:
    return {**{k: v for k, v in TOKEN.items() if k != key}, **more}


def test_nothing_said_is_ssh() -> None:
    access = Access.of({})
    assert (access.backend, access.is_root) == ("ssh", True)


def test_a_token_is_not_root_and_a_ticket_of_root_is() -> None:
    ticket = {"backend": "ticket", "host": "pve1", "secret_env": "X"}
    assert not Access.of({**TOKEN, "token": "root@pam!t1"}).is_root
    assert Access.of(ticket).is_root
    assert not Access.of({**ticket, "user": "stoker@pve"}).is_root


def test_an_ipv6_address_is_bracketed() -> None:
    assert Access.of({**TOKEN, "host": "2001:db8::1"}).url == "https://[2001:db8::1]:8006"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (without("host"), "host is missing"),
        ({**TOKEN, "host": "https://pve1"}, "without https://"),
        (without("token"), "token is not like user@realm!id"),
        ({**TOKEN, "token": "root@pam!t1=SECRET-VALUE"}, "never its secret"),
        ({**TOKEN, "token": "root@pam"}, "user@realm!id"),
        (without("secret_env"), "exactly one of secret_env and secret_file"),
        ({**TOKEN, "secret_file": "/s"}, "exactly one of secret_env and secret_file"),
        ({**TOKEN, "secret_env": "SECRET-VALUE"}, "give its name, not the secret"),
        (without("secret_env", secret_file="SECRET-VALUE"), "no absolute path"),
        (without("token", backend="ticket", user="SECRET-VALUE"), "user is not like root@pam"),
        ({**TOKEN, "backend": "SECRET-VALUE"}, "backend is wrong"),
        ({**TOKEN, "port": "SECRET-VALUE"}, "port is wrong"),
        ({**TOKEN, "port": 0}, "port is wrong"),
        ({**TOKEN, "password": "SECRET-VALUE"}, "password would be the secret itself"),
        ({**TOKEN, "verify_ssl": False}, "it has no key verify_ssl"),
        ({"token": "a@b!c"}, "the backend ssh needs none"),
        ({**TOKEN, "backend": "ticket"}, "the backend ticket has a user"),
        ("SECRET-VALUE", "it is no dict"),
    ],
)
def test_what_is_wrong_is_said_without_a_value(data: Any, said: str) -> None:
    with pytest.raises(Refused) as refused:
        Access.of(data)
    assert said in str(refused.value)
    assert "SECRET-VALUE" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_every_problem_is_said_at_once() -> None:
    with pytest.raises(Refused) as refused:
        Access.of({"backend": "token"})
    assert len(str(refused.value).splitlines()) == 3
    with pytest.raises(Refused) as refused:
        Access.of({"backend": 1, "port": "x", "hots": "pve1"})
    assert len(str(refused.value).splitlines()) == 3


def test_the_secret_is_read_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    access = Access.of(TOKEN)
    monkeypatch.setenv("STOKER_TOKEN", "one\n")
    assert secret(access) == "one"
    assert "one" not in repr(access)


def test_a_pipe_is_no_secret_file_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(Unauthorized, match="pipe is no file; write the secret alone in one"):
        secret(Access.of(without("secret_env", secret_file=str(tmp_path / "pipe"))))
    with pytest.raises(Unreachable, match=r"pipe \(proxmox.ca_file\) cannot be read"):
        authorities(Access.of({**TOKEN, "ca_file": str(tmp_path / "pipe")}))


def test_a_secret_file_of_ones_own_is_read(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text("one\n")
    assert secret(Access.of(without("secret_env", secret_file=str(file)))) == "one"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_secret_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "token"
    file.write_text("SECRET-VALUE")
    file.chmod(mode)
    with pytest.raises(Unauthorized, match=rf"others can read {file} .*chmod 600 it") as error:
        secret(Access.of(without("secret_env", secret_file=str(file))))
    assert "SECRET-VALUE" not in str(error.value)


@pytest.mark.parametrize("text", ["", "\n", "two words", "SECRET-VALUE\nmore", "schlüssel"])
def test_what_cannot_be_a_token_is_refused_unseen(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("STOKER_TOKEN", text)
    with pytest.raises(Unauthorized) as error:
        secret(Access.of(TOKEN))
    assert "SECRET-VALUE" not in str(error.value)


def test_a_secret_that_is_not_there_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STOKER_TOKEN", raising=False)
    with pytest.raises(Unauthorized, match="is not set; export it"):
        secret(Access.of(TOKEN))
    with pytest.raises(Unauthorized, match=r"No such file.*mode 0600"):
        secret(Access.of(without("secret_env", secret_file=str(tmp_path / "none"))))
    with pytest.raises(Unauthorized, match="cannot be read"):
        secret(Access.of(without("secret_env", secret_file=str(tmp_path))))
    (tmp_path / "bytes").touch(0o600)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(Unauthorized, match="is no text"):
        secret(Access.of(without("secret_env", secret_file=str(tmp_path / "bytes"))))
