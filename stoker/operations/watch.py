"""The watch on a node, or none."""

from collections.abc import Generator

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.facts.files import FileState, FileStates
from stoker.facts.timers import Timer
from stoker.operations.atomic import written
from stoker.serving import layout
from stoker.serving.watch import CONFIG, SERVICE, TIMER, Watch, files_of

Commands = Generator[PyinfraCommand, None, None]

PATHS = (str(CONFIG), str(layout.unit_file(SERVICE)), str(layout.unit_file(TIMER)))
ENABLED = "/etc/systemd/system/timers.target.wants"
# What it wrote goes first: a status nobody writes any more is taken for a fresh one. A look that is
# under way ends before; a recovery that it started has a service of its own and goes on.
_REMOVE = r"""
set -eu
config=$1 service=$2 timer=$3 wants=$4
systemctl stop --quiet "${timer##*/}" "${service##*/}" 2>/dev/null || true
if [ -f "$config" ]; then
    sed -n 's/^ *"\(metrics\|status\)": "\(.*\)",\{0,1\}$/\2/p' "$config" |
        while read -r written; do rm -f -- "$written"; done
fi
rm -f -- "$wants/${timer##*/}" "$timer" "$service" "$config"
systemctl daemon-reload
"""


@operation()
def present(watch: Watch | None) -> Commands:
    """The node is watched as said, or not at all (None), with nothing of an earlier watch left."""
    timer = host.get_fact(Timer, unit=TIMER)
    there = host.get_fact(FileStates, paths=PATHS)
    if watch is None:
        if there or timer.known:
            yield StringCommand("sh", "-c", QuoteString(_REMOVE), "sh", *PATHS, ENABLED)
        else:
            host.noop("the node is not watched")
        return
    changed = [
        file
        for file in files_of(watch)
        if there.get(str(file.path)) != FileState(file.sha256, file.mode, "root:root")
    ]
    if not changed and timer.enabled and timer.active and not timer.needs_reload:
        host.noop("the node is watched as said")
        return
    yield StringCommand("install", "-d", "-m", "0755", "--", *map(QuoteString, watch.directories))
    for file in changed:
        yield from written(file)
    yield StringCommand("systemctl", "daemon-reload")
    yield StringCommand("systemctl", "enable", "--quiet", TIMER)
    # Not `start`: a timer that runs takes a new interval only so.
    yield StringCommand("systemctl", "restart", TIMER)
