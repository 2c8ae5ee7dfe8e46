"""The certificate authorities this machine trusts, for images that must reach the same servers."""

import re
from pathlib import Path

BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
_SHIPPED = Path("/usr/share/ca-certificates")
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?", re.DOTALL)


def _certificates(text: str) -> list[str]:
    return [match.strip() + "\n" for match in _PEM.findall(text)]


def files(bundle: Path = BUNDLE, shipped: Path = _SHIPPED) -> dict[str, str]:
    """Files for an image, by path: the whole bundle, and each authority Debian does not ship.

    The latter stand where `update-ca-certificates` takes them up, so that installing the package
    ca-certificates in the image later does not lose them. pip reads neither without being told.
    """
    if not bundle.exists():
        return {}
    known = {
        certificate
        for path in shipped.rglob("*.crt")
        for certificate in _certificates(path.read_text())
    }
    whole = bundle.read_text()
    own = [certificate for certificate in _certificates(whole) if certificate not in known]
    placed = {
        f"usr/local/share/ca-certificates/machine-{number}.crt": certificate
        for number, certificate in enumerate(own)
    }
    placed["etc/ssl/certs/ca-certificates.crt"] = whole
    placed["etc/pip.conf"] = f"[global]\ncert = {BUNDLE}\n"
    return placed
