"""A cluster's own authority, which Proxmox makes without saying what its key is for."""

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from requests.adapters import HTTPAdapter

from stoker.proxmox import api, tls
from stoker.proxmox.access import Access
from stoker.proxmox.api import Session
from stoker.proxmox.errors import Unreachable
from tests.proxmox.conftest import TOKEN, Clock
from tests.proxmox.scripted import Scripted, answer, scripted

_NEW = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
_AUTHORITY = """[req]
distinguished_name = name
x509_extensions = authority
[name]
[authority]
basicConstraints = critical,CA:TRUE
subjectKeyIdentifier = hash
"""
_NODE = """basicConstraints = CA:FALSE
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = IP:127.0.0.1,DNS:pve1
"""


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With `ca.pem`, and with `node.crt` and its key, signed by it."""
    made = tmp_path_factory.mktemp("authority")
    (made / "authority").write_text(_AUTHORITY)
    (made / "node").write_text(_NODE)
    name = ["-subj", "/CN=Proxmox Virtual Environment", "-config", "authority"]
    _openssl(made, "req", "-x509", *_NEW, *name, "-keyout", "ca.key", "-out", "ca.pem")
    _openssl(
        made, "req", "-new", *_NEW[:-2], "-subj", "/CN=pve1", "-keyout", "node.key", "-out", "r"
    )
    signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "node"]
    _openssl(made, "x509", "-req", "-days", "2", "-in", "r", *signed, "-out", "node.crt")
    return made


@pytest.fixture
def node(folder: Path) -> Iterator[Scripted]:
    with scripted(str(folder / "node.crt")) as one:
        one.answers = [answer('{"data": 1}')]
        yield one


@pytest.fixture
def session(node: Scripted, folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Session:
    """As Python 3.13 has it, whichever runs this."""

    def strict(*given: Any, **named: Any) -> ssl.SSLContext:
        context = create(*given, **named)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    create = tls.create_urllib3_context
    monkeypatch.setattr(tls, "create_urllib3_context", strict)
    monkeypatch.setattr("urllib3.connection.create_urllib3_context", strict)
    monkeypatch.setenv("STOKER_TOKEN", "s")
    said = {"backend": "token", "token": TOKEN, "secret_env": "STOKER_TOKEN", "host": "127.0.0.1"}
    access = Access.of({**said, "port": node.port, "ca_file": str(folder / "ca.pem")})
    return Session(access, clock.sleep, clock)


def test_it_is_taken_as_it_is(session: Session) -> None:
    assert session.get("version") == 1


def test_python_itself_would_refuse_it(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api.tls, "Adapter", HTTPAdapter)
    with pytest.raises(Unreachable, match="CA cert does not include key usage extension"):
        session.get("version")


def test_another_name_is_refused_all_the_same(session: Session, folder: Path, clock: Clock) -> None:
    with scripted(str(folder / "node.crt"), "127.0.0.2") as elsewhere:
        there = session.access.model_copy(update={"host": "127.0.0.2", "port": elsewhere.port})
        with pytest.raises(Unreachable, match="is for another name"):
            Session(there, clock.sleep, clock).get("version")


def test_another_authority_is_refused_all_the_same(
    session: Session, fakepve_cafile: str, clock: Clock
) -> None:
    other = session.access.model_copy(update={"ca_file": fakepve_cafile})
    with pytest.raises(
        Unreachable, match=r"not signed by .*certificate of their own \(pveproxy-ssl"
    ):
        Session(other, clock.sleep, clock).get("version")
