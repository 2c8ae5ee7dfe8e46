"""The venvs of a container, what of them is finished and used, and the room beside them."""

from dataclasses import dataclass

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.facts.interpreter import READ_DISTRIBUTION, Distribution, distribution
from stoker.serving import layout

# A process is asked for what it has mapped: SGLang's children rename themselves, and the
# interpreter of a venv is a link to the distribution's. Only when there is a choice of venvs.
_READ = (
    READ_DISTRIBUTION
    + """
venvs=$1 units=$2 caches=$3 switch=$4
cd "$venvs" 2>/dev/null && for name in sglang-*/ .cache/; do
    [ -d "$name" ] || continue
    marks=$(cd "$name" && ls -d .complete .sglang 2>/dev/null | tr '\\n' ' ')
    echo "venv ${name%/} $(stat -c %Y "$name") $marks"
done
grep -rhoE "$venvs/[^/ \\"':]+" "$units" "$switch" 2>/dev/null | sort -u | sed 's/^/used /'
if [ "$(ls -d "$venvs"/sglang-*/ 2>/dev/null | wc -l)" -gt 1 ]; then
    cat /proc/[0-9]*/maps 2>/dev/null | grep -oE "$venvs/[^/ ]+" | sort -u | sed 's/^/used /'
fi
cd "$caches" 2>/dev/null && for name in sglang-*/; do
    [ -d "$name" ] && [ ! -d "$venvs/$name" ] && echo "orphan ${name%/}"
done
dir=$venvs
while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
echo "free $(df -B1 --output=avail "$dir" | tail -n 1)"
"""
)


@dataclass(frozen=True)
class Venv:
    """One venv by its directory's name, when it was made (Unix time), and its marks."""

    name: str
    made: int
    marks: frozenset[str]

    @property
    def complete(self) -> bool:
        """Otherwise it was never finished and is not used."""
        return ".complete" in self.marks


@dataclass(frozen=True)
class VenvsState:
    """Everything under the venvs' directory, and what refers to it."""

    distribution: Distribution | None = None
    venvs: tuple[Venv, ...] = ()
    cache: bool = False
    """uv's cache of an installation that did not end."""
    used: frozenset[str] = frozenset()
    """Names of venvs that a unit on disk, the journal of a switch or a running process uses."""
    orphans: tuple[str, ...] = ()
    """Caches of compiled kernels, by directory name, whose venv is gone."""
    free_bytes: int = 0

    def marked(self, name: str, mark: str) -> bool:
        return any(venv.name == name and mark in venv.marks for venv in self.venvs)


class Venvs(FactBase[VenvsState]):
    """`/opt/stoker/venvs`, who names a venv, and the caches of compiled kernels."""

    def command(self) -> StringCommand:
        paths = (layout.VENVS, layout.UNITS, layout.CACHE, layout.SWITCH)
        words = (QuoteString(str(path)) for path in paths)
        return StringCommand("sh", "-c", QuoteString(_READ), "sh", *words)

    @staticmethod
    def default() -> VenvsState:
        return VenvsState()

    def process(self, output: list[str]) -> VenvsState:
        rows = [line.split() for line in output]
        named = {key: [row[1:] for row in rows if row[0] == key] for key in ("venv", "used")}
        return VenvsState(
            distribution=distribution(rows),
            venvs=tuple(
                Venv(name, int(made), frozenset(marks))
                for name, made, *marks in named["venv"]
                if name != ".cache"
            ),
            cache=any(row[0] == ".cache" for row in named["venv"]),
            used=frozenset(row[0].rsplit("/", 1)[1] for row in named["used"]),
            orphans=tuple(row[1] for row in rows if row[0] == "orphan"),
            free_bytes=next((int(row[1]) for row in rows if row[0] == "free"), 0),
        )
