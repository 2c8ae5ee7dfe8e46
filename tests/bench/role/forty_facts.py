"""Forty facts of the usual kinds and no operation: what a run reads before it decides anything."""

import wanted
from pyinfra import host
from pyinfra.facts.deb import DebPackages
from pyinfra.facts.files import Directory, File, Link, Sha1File
from pyinfra.facts.server import Groups, Hostname, Users
from pyinfra.facts.systemd import SystemdEnabled, SystemdStatus

host.get_fact(Hostname)
host.get_fact(DebPackages)
host.get_fact(Users)
host.get_fact(Groups)
for path in wanted.DIRECTORIES:
    host.get_fact(Directory, path=path)
for _source, path, _mode in wanted.FILES:
    host.get_fact(File, path=path)
    host.get_fact(Sha1File, path=path)
for _source, path, _service in wanted.TEMPLATES:
    host.get_fact(File, path=path)
for path, _target in wanted.LINKS:
    host.get_fact(Link, path=path)
for service in tuple(wanted.SERVICES)[:3]:
    host.get_fact(SystemdStatus, services=f"bench-{service}")
host.get_fact(SystemdEnabled, services="bench-api")
host.get_fact(File, path=f"{wanted.VENVS[0]}/pyvenv.cfg")
