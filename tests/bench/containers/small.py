"""What a small server needs in SGLang's place: a Python, the service user, and its files."""

import os
from pathlib import Path

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand, deploy
from pyinfra.operations import files, server

from stoker.operations import system
from stoker.serving import layout, lock

PYTHON = "3.11"
RELEASE = "0.5.12"
_ARCHIVE = "/opt/small-server.tar"
_PLACE = """
set -eu
mkdir -p "$1/bin" "$2"
ln -sfn /usr/bin/python3.11 "$1/bin/python"
echo "home = /usr/bin" >"$1/pyvenv.cfg"
tar -xf "$3" -C "$2"
"""


@deploy("System")
def python() -> None:
    """As the role `system`, without the compilers."""
    account = host.data.get("service_user", "sglang")
    system.packages(
        name="Install the interpreter",
        by_distribution={("debian", "12"): ["python3"]},
        account=account,
    )
    system.user(
        name="Make the service user", account=account, home=str(layout.SERVICE_HOME), groups=[]
    )


@deploy("Small server")
def placed() -> None:
    """From the archive $BENCH_SERVER; in place of the roles `uv` to `draft`."""
    venv = layout.venv_path(lock.load(Path("locks"), RELEASE).lock_for(PYTHON))
    packages = layout.site_packages(venv, PYTHON)
    sent = files.put(name="Send it", src=os.environ["BENCH_SERVER"], dest=_ARCHIVE)
    words = map(QuoteString, (_PLACE, "sh", str(venv), str(packages), _ARCHIVE))
    server.shell(name="Place it", commands=[StringCommand("sh", "-c", *words)], _if=sent.did_change)
