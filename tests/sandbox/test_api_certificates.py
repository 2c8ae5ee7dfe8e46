"""The certificates of an instance's nodes, as a client checks them."""

import ssl
import threading
from pathlib import Path

import pytest

from stoker.sandbox import certificates
from stoker.sandbox.node.web.server import Server
from tests.sandbox.api import Api


def test_a_node_is_who_its_certificate_says_by_name_and_address(tmp_path: Path) -> None:
    authority = certificates.authority(tmp_path / "authority", "demo")
    certificate, key = certificates.of_node(tmp_path / "authority", "pve1", "127.0.0.2")
    (tmp_path / "pem").write_bytes(certificate)
    (tmp_path / "key").write_bytes(key)
    with Server(("127.0.0.1", 0), str(tmp_path / "pem"), str(tmp_path / "key")) as served:
        port = served.server_address[1]
        thread = threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        for name in ("localhost", "127.0.0.1"):
            assert Api(name, port, str(authority)).get("/version").reason == "No ticket"
        assert {name for _, name in _names(certificate)} == {
            *("pve1", "pve1.sandbox", "localhost", "127.0.0.2", "127.0.0.1"),
        }
        other = certificates.authority(tmp_path / "other", "other")
        with pytest.raises(ssl.SSLCertVerificationError):
            Api("localhost", port, str(other)).get("/version")
        served.shutdown()
        thread.join()


def _names(certificate: bytes) -> list[tuple[str, str]]:
    """The subject's alternative names, by a parser that is not ours."""
    from cryptography import x509  # only here: the sandbox does without it

    found = x509.load_pem_x509_certificate(certificate).extensions
    names = found.get_extension_for_class(x509.SubjectAlternativeName).value
    return [(type(one).__name__, str(one.value)) for one in names]


def test_an_authority_is_made_once(tmp_path: Path) -> None:
    first = certificates.authority(tmp_path, "demo").read_bytes()
    assert certificates.authority(tmp_path, "demo").read_bytes() == first
    assert (tmp_path / "pve-root-ca.key").stat().st_mode & 0o777 == 0o600
