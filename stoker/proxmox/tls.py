"""Whether Proxmox is who it says, and why not, in words. Nothing turns this off."""

import errno
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.util.ssl_ import create_urllib3_context

from stoker.proxmox.access import Access
from stoker.proxmox.errors import Unreachable

_OTHER_NAME = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
_OF_ANOTHER_TIME = (9, 10)  # not yet valid, expired
_GET_CA = (
    "copy /etc/pve/pve-root-ca.pem of a node of its cluster here and name it in proxmox.ca_file"
)
_OWN = "; where nodes have a certificate of their own (pveproxy-ssl.pem), name who signed that"


class Adapter(HTTPAdapter):
    """Verifies name and signature as ever, and takes a cluster's own authority as it is.

    Proxmox makes that one without the extension keyUsage, and Python 3.13 and later refuse such a
    one by default (VERIFY_X509_STRICT).
    """

    def init_poolmanager(self, *args: Any, **named: Any) -> None:
        context = create_urllib3_context()
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        super().init_poolmanager(*args, **named, ssl_context=context)


def authorities(access: Access) -> str:
    """The file or folder of who is trusted: `ca_file`, else this system's own, not certifi's.

    Raises Unreachable for a file that has no certificate.
    """
    if not access.ca_file:
        paths = ssl.get_default_verify_paths()
        return paths.cafile or paths.capath or "/etc/ssl/certs/ca-certificates.crt"
    path = Path(access.ca_file).expanduser()
    try:
        if path.exists() and not path.is_file():
            raise IsADirectoryError(errno.EISDIR, "it is no file")
        ssl.create_default_context(cafile=str(path))
    except ssl.SSLError:
        why = f"{path} (proxmox.ca_file) has no certificate"
    except OSError as error:
        why = f"{path} (proxmox.ca_file) cannot be read ({error.strerror})"
    else:
        return str(path)
    raise Unreachable(f"cannot reach Proxmox at {access.url}: {why}; {_GET_CA}")


def problem(access: Access, error: BaseException) -> str | None:
    """What is wrong with the certificate and what to do, if it is that which ended a request."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _worded(access, cause)
    return None


def _worded(access: Access, error: ssl.SSLCertVerificationError) -> str:
    why = error.verify_message
    if error.verify_code in _OTHER_NAME:
        return (
            f"its certificate is for another name ({why}); set proxmox.host to a name that is in "
            "it: openssl x509 -noout -ext subjectAltName -in /etc/pve/local/pve-ssl.pem"
        )
    if error.verify_code in _OF_ANOTHER_TIME:
        return f"its certificate is of another time ({why}); see pvecm updatecerts, and the clocks"
    trusted = access.ca_file or "an authority of this system"
    do = _GET_CA + (_OWN if access.ca_file else "")
    return f"its certificate is not signed by {trusted} ({why}); {do}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, what it was raised from, and the errors it carries (urllib3's `reason`)."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]
