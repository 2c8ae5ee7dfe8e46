"""The same for containers that somebody has made: no role looks after node, container or driver."""

from pyinfra import host

from roles.flagsets import flagsets
from roles.service import service
from roles.watch import watch
from tests.bench.containers import small

flagsets()

if "pve" in host.groups:
    watch()

if "inference" in host.groups:
    small.python()
    small.placed()
    service()
