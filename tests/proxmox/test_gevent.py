"""pyinfra patches the standard library with gevent's: a session works with and without."""

import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import sys
if sys.argv[1] == "patched":
    from gevent import monkey
    monkey.patch_all()
from stoker.proxmox.access import Access
from stoker.proxmox.api import Session
from stoker.proxmox.errors import Unreachable
access = Access.of(eval(sys.argv[2]))
session = Session(access)
posted = session.post("nodes/pve1/lxc/200/status/start")
session.task(posted)
if sys.argv[1] == "patched":
    import gevent
    jobs = [gevent.spawn(session.get, "version") for _ in range(24)]
    assert all(job.get()["version"] for job in jobs)
try:
    Session(access.model_copy(update={"ca_file": ""})).get("version")
except Unreachable as error:
    print("not signed" in str(error))
"""


@pytest.mark.parametrize("how", ["patched", "plain"])
def test_a_session_works(fakepve: Any, data: dict[str, Any], how: str) -> None:
    fakepve.add_ct(200)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, how, repr(data)], capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout.strip(), ran.stderr) == ("True", "")
