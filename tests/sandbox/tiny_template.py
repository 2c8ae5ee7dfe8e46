"""A template of a few files, from which a container is made in no time and can never be started."""

import io
import tarfile

NAME = "stoker-test-tiny.tar.gz"
"""As `local:vztmpl/...` has it."""
_FILES = {
    "etc/os-release": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "etc/debian_version": "12.7\n",
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "etc/shadow": "root:*:19000:0:99999:7:::\n",
    "etc/group": "root:x:0:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "bin/sh": "",
}


def archive() -> bytes:
    """The template's file."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in _FILES.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
        for name in ("dev", "root", "etc/network", "etc/systemd/network", "models"):
            entry = tarfile.TarInfo(f"./{name}")
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
    return packed.getvalue()
