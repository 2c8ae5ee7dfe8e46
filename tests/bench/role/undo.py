"""Take the role away again, so that the next tool applies it to a bare container."""

import shlex

import wanted
from pyinfra.operations import server

_units = [f"bench-{service}.service" for service in wanted.SERVICES]
_paths = [
    "/opt/bench",
    "/var/lib/bench",
    *(path for path, _target in wanted.LINKS),
    *(path for _source, path, _service in wanted.TEMPLATES),
]
_packages = [name for names in wanted.PACKAGES for name in names]

server.shell(
    name="Take the role away",
    commands=[
        shlex.join(["systemctl", "--quiet", "disable", "--now", *_units]),
        shlex.join(["rm", "-rf", *_paths]),
        "systemctl daemon-reload",
        "userdel bench",  # and with it the group of the same name
        shlex.join(["apt-get", "-qq", "purge", *_packages]),
    ],
    _env={"DEBIAN_FRONTEND": "noninteractive"},
)
