"""A restart of a container that did not help, kept on its node for as long as the container runs.

Without it every run would restart the container anew for what no restart brings.
"""

from collections.abc import Callable, Sequence

from stoker.pct.client import Result

Run = Callable[[Sequence[str]], Result]

# Which life of the container: its init's number on the node, and when that began. The name of a
# process may hold blanks and brackets.
_LIFE = r"""
set -eu
folder=${2:-/run/stoker/in-vain}
init=$(timeout 20 lxc-info -n "$1" -p -H)
life="$init $(sed 's/.*) //' "/proc/$init/stat" | cut -d ' ' -f 20)"
"""
KNOWN = _LIFE + '[ "$(cat "$folder/$1")" = "$life" ]\n'
NOTE = (
    _LIFE
    + r"""
mkdir -p -m 0755 "$folder"
printf '%s\n' "$life" >"$folder/$1.new"
mv -f -- "$folder/$1.new" "$folder/$1"
"""
)


def known(run: Run, vmid: int) -> bool:
    """Whether the container was started anew in vain and has run since; also False where that
    cannot be told. `run` runs words on the node as root."""
    return run(_words(KNOWN, vmid)).code == 0


def noted(run: Run, vmid: int) -> bool:
    """Keep that the restart of just now was in vain; False: it could not be kept."""
    return run(_words(NOTE, vmid)).code == 0


def _words(script: str, vmid: int) -> list[str]:
    return ["sh", "-c", script, "sh", str(vmid)]
