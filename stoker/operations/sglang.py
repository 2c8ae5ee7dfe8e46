"""SGLang as installed: does it start at all?"""

from collections.abc import Generator

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.facts.venvs import Venvs
from stoker.operations.refusal import refused
from stoker.operations.venv import wanted
from stoker.refused import Refused
from stoker.serving import layout
from stoker.serving.lock import Lock, Release

# An import proves nothing and a green resolve neither: `--help` walks through the server's own
# start. It takes 15 to 40 s, so that it passed is remembered in the venv, which never changes.
_CHECK = """
set -eu
venv=$1 cuda=$2 wanted=$3
home=$(mktemp -d)
trap 'rm -rf -- "$home"' EXIT
export HOME="$home" CUDA_HOME="$cuda" PATH="$venv/bin:$cuda/bin:$PATH" HF_HUB_OFFLINE=1
cd "$home"

fail() {
    echo "$last" | tail -n 20 >&2
    echo "cannot use the SGLang in $venv: $1; its last lines are above" >&2
    exit 1
}

last=$("$venv/bin/python" -c 'import torch; print(torch.version.cuda)' 2>&1) ||
    fail "torch cannot be imported"
[ "$last" = "$wanted" ] || fail "torch.version.cuda is $last, the lock's is $wanted"
last=$("$venv/bin/python" -m sglang.launch_server --help 2>&1 >/dev/null) ||
    fail "sglang.launch_server --help ends with $?"
umask 022
: > "$venv/.sglang"
"""


@operation()
def installed(releases: list[Release]) -> Generator[PyinfraCommand, None, None]:
    """The server of each release answers `--help`, and its torch is built for the lock's CUDA."""
    found = host.get_fact(Venvs)
    try:
        locks = wanted(releases, found.distribution)
    except Refused as error:
        yield refused(error)
        return
    for lock in locks:
        if not found.marked(layout.venv_path(lock).name, ".sglang"):
            yield check(lock)


def check(lock: Lock) -> StringCommand:
    """The command that tries the server of this lock and remembers that it passed."""
    venv = layout.venv_path(lock)
    words = (str(venv), str(layout.cuda_home(venv, lock.python)), lock.cuda)
    return StringCommand("sh", "-c", QuoteString(_CHECK), "sh", *map(QuoteString, words))
