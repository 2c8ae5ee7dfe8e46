"""The names and values of the role, for the pyinfra deploy and for the checks of the end state.

`playbook.yml` writes them out once more in its own language.
"""

from pathlib import Path

HERE = Path(__file__).resolve().parent

PACKAGES = (("acl",), ("tree",))
DIRECTORIES = (
    "/opt/bench",
    "/opt/bench/bin",
    "/opt/bench/etc",
    "/opt/bench/etc/conf.d",
    "/opt/bench/share",
    "/var/lib/bench",
)
# Source in files/, destination, mode.
FILES = (
    ("serve", "/opt/bench/bin/serve", "755"),
    ("check", "/opt/bench/bin/check", "755"),
    ("rotate", "/opt/bench/bin/rotate", "755"),
    ("motd", "/opt/bench/share/motd", "644"),
    ("limits.json", "/opt/bench/share/limits.json", "644"),
    ("ports.csv", "/opt/bench/share/ports.csv", "644"),
    ("corpus.txt", "/opt/bench/share/corpus.txt", "644"),
)
SERVICES = {"api": 9000, "worker": 9001, "metrics": 9002, "queue": 9003, "cron": 9004}
# Source in templates/, destination, service: five units and four of their configurations.
TEMPLATES = (
    *(("unit.service.j2", f"/etc/systemd/system/bench-{name}.service", name) for name in SERVICES),
    *(
        ("service.conf.j2", f"/opt/bench/etc/conf.d/{name}.conf", name)
        for name in SERVICES
        if name != "cron"
    ),
)
MARKS = ("/opt/bench/etc/environment", "/var/lib/bench/.ready")
LINES = ("BENCH_HOME=/opt/bench", "BENCH_SPOOL=/var/lib/bench", "BENCH_LEVEL=info")
LINKS = (("/usr/local/bin/bench-check", "/opt/bench/bin/check"), ("/etc/bench", "/opt/bench/etc"))
VENVS = ("/opt/bench/venv-app", "/opt/bench/venv-tools")
OPERATIONS = 40
