"""Stand-in: `pct exec` and `pct enter`: checks, a cleaned environment, then lxc-attach itself."""

from __future__ import annotations

import os
import signal
import sys
from typing import Dict

from . import running, store
from .command import Request
from .died import Died

# What CLIHandler sets under perl -T; /usr/local/bin is not in it.
PATH = b"/sbin:/bin:/usr/sbin:/usr/bin"


def execute(request: Request) -> int:
    """Become `lxc-attach` for the given words; no lock is looked at."""
    store.load(request.vmid)
    if not request.words:
        raise Died("missing command at /usr/share/perl5/PVE/CLI/pct.pm line 246.")
    return _attach(request, ["--", *request.words])


def enter(request: Request) -> int:
    """Become `lxc-attach` with root's shell."""
    store.load(request.vmid)
    return _attach(request, [])


def _attach(request: Request, words: "list[str]") -> int:
    vmid = str(request.vmid)
    if not running.is_running(request.vmid):
        raise Died(f"container '{vmid}' not running!")
    environ = {**_callers_environ(), b"PATH": PATH}
    for name in (b"SSL_CERT_FILE", b"SSL_CERT_DIR"):
        environ.pop(name, None)
    # --keep-env is on by default, still, in 6.1.10.
    keep = "keep-env" not in request.values or request.is_set("keep-env")
    # python ignores these two; what runs in the container must not inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    attach = ["lxc-attach", "-n", vmid, "--keep-env" if keep else "--clear-env", *words]
    os.execve("/usr/bin/lxc-attach", attach, environ)


def _callers_environ() -> Dict[bytes, bytes]:
    # python adds LC_CTYPE to its own environment where no locale is set; this one is as given.
    with open("/proc/self/environ", "rb") as file:
        pairs = [pair.partition(b"=") for pair in file.read().split(b"\0") if b"=" in pair]
    return {name: value for name, _equals, value in pairs}
