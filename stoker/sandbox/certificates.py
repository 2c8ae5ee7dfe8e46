"""TLS as a Proxmox cluster has it: an authority of its own, and a certificate for each node."""

import tempfile
from pathlib import Path

from stoker.sandbox import commands
from stoker.sandbox.files import write_atomically

_DAYS = 3650
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
_AUTHORITY = """\
[req]
distinguished_name = name
x509_extensions = authority
[name]
[authority]
basicConstraints = critical,CA:TRUE
subjectKeyIdentifier = hash
"""
"""Without keyUsage, as Proxmox makes it; Python 3.13 and later refuse such a one by default."""


def authority(directory: Path, name: str) -> Path:
    """The authority's certificate in that directory, with its key beside it, made if not there."""
    made, key = directory / "pve-root-ca.pem", directory / "pve-root-ca.key"
    if not (made.exists() and key.exists()):
        with tempfile.TemporaryDirectory() as scratch:
            settings = Path(scratch, "settings")
            settings.write_text(_AUTHORITY)
            subject = f"/CN=Proxmox Virtual Environment/OU={name}/O=PVE Cluster Manager CA"
            pair = ["-keyout", Path(scratch, "key"), "-out", Path(scratch, "certificate")]
            words = ["openssl", "req", "-x509", "-days", _DAYS, "-subj", subject]
            commands.run([*words, "-config", settings, *_KEY, *pair])
            write_atomically(key, Path(scratch, "key").read_bytes(), 0o600)
            write_atomically(made, Path(scratch, "certificate").read_bytes())
    return made


def of_node(authorities: Path, node: str, address: str) -> tuple[bytes, bytes]:
    """(certificate, key) of a node under its name, its full name, its address and localhost."""
    names = [f"DNS:{node}", f"DNS:{node}.sandbox", "DNS:localhost"]
    names += [f"IP:{address}", "IP:127.0.0.1"]
    with tempfile.TemporaryDirectory() as scratch:
        request, key, made, settings = (Path(scratch, one) for one in ("csr", "key", "pem", "ext"))
        settings.write_text(
            "basicConstraints = critical,CA:FALSE\nextendedKeyUsage = serverAuth\n"
            "subjectKeyIdentifier = hash\nauthorityKeyIdentifier = keyid\n"
            f"subjectAltName = {','.join(names)}\n"
        )
        subject = ["-subj", f"/OU=PVE Cluster Node/O=Proxmox Virtual Environment/CN={node}.sandbox"]
        commands.run(["openssl", "req", "-new", *subject, *_KEY, "-keyout", key, "-out", request])
        words = ["openssl", "x509", "-req", "-days", _DAYS, "-in", request, "-out", made]
        words += ["-CA", authorities / "pve-root-ca.pem", "-CAkey", authorities / "pve-root-ca.key"]
        commands.run([*words, "-CAcreateserial", "-CAserial", Path(scratch, "serial"),
                      "-extfile", settings])  # fmt: skip
        return made.read_bytes(), key.read_bytes()
