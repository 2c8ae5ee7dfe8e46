"""The role as a pyinfra deploy: forty operations, eighty-one commands when nothing is to change."""

from collections.abc import Generator

import wanted
from pyinfra import host
from pyinfra.api import QuoteString, StringCommand, operation
from pyinfra.facts.files import File
from pyinfra.operations import apt, files, server, systemd


@operation()
def virtualenv(path: str) -> Generator[StringCommand]:
    """A bare virtual environment; `pip.venv` of pyinfra cannot leave pip out."""
    if host.get_fact(File, path=f"{path}/pyvenv.cfg"):
        host.noop(f"{path} is there")
    else:
        yield StringCommand("python3", "-m", "venv", "--without-pip", QuoteString(path))


for names in wanted.PACKAGES:
    apt.packages(name=f"Install {names[0]}", packages=list(names))

server.group(name="Add the group", group="bench")
server.user(
    name="Add the user",
    user="bench",
    group="bench",
    home="/var/lib/bench",
    shell="/usr/sbin/nologin",
    create_home=False,
)

for path in wanted.DIRECTORIES:
    owner = "bench" if path == "/var/lib/bench" else "root"
    files.directory(name=f"Make {path}", path=path, user=owner, group=owner, mode="755")

for source, path, mode in wanted.FILES:
    files.put(
        name=f"Put {path}",
        src=str(wanted.HERE / "files" / source),
        dest=path,
        user="root",
        group="root",
        mode=mode,
    )

for source, path, service in wanted.TEMPLATES:
    files.template(
        name=f"Render {path}",
        src=str(wanted.HERE / "templates" / source),
        dest=path,
        user="root",
        group="root",
        mode="644",
        service=service,
        port=wanted.SERVICES[service],
    )

for path in wanted.MARKS:
    files.file(name=f"Make {path}", path=path, user="root", group="root", mode="644")

for line in wanted.LINES:
    files.line(name=f"Write {line}", path=wanted.MARKS[0], line=line)

for path, target in wanted.LINKS:
    files.link(name=f"Link {path}", path=path, target=target)

for path in wanted.VENVS:
    virtualenv(name=f"Make {path}", path=path)

for service in wanted.SERVICES:
    systemd.service(
        name=f"Run bench-{service}", service=f"bench-{service}", running=True, enabled=True
    )
