"""The CUDA trees inside the venvs: whether a compiler and a linker find everything in them."""

from dataclasses import dataclass, field

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.facts.interpreter import READ_DISTRIBUTION, Distribution, distribution
from stoker.serving import layout

PROFILE = "/etc/profile.d/stoker-cuda.sh"

_READ = (
    READ_DISTRIBUTION
    + """
cd "$1" 2>/dev/null && for home in sglang-*/lib/python3*/site-packages/nvidia/cu13; do
    [ -d "$home/lib" ] || continue
    echo "home $home"
    [ "$(readlink "$home/lib64")" = lib ] || echo "lacks lib64"
    [ -e "$home/lib/stubs/libcuda.so" ] || echo "lacks stub"
    for file in "$home"/lib/lib*.so.[0-9]*; do
        name=${file##*/}
        [ -e "$home/lib/${name%%.so.*}.so" ] || echo "link ${name%%.so.*}.so $name"
    done
    [ -e "$home/.proved" ] && echo "proved $(cat "$home/.proved")"
done
[ -e "$2" ] && echo "profile $(sha256sum < "$2" | cut -d' ' -f1)"
sed -n 's/^Model:[[:space:]]*/gpu /p' /proc/driver/nvidia/gpus/*/information 2>/dev/null
exit 0
"""
)


@dataclass
class CudaHome:
    """One tree."""

    lacks: set[str] = field(default_factory=set)
    """Of `lib64` and `stub`."""
    unlinked: dict[str, str] = field(default_factory=dict)
    """Library name the linker looks for, `libcudart.so` -> the file that is there."""
    proved: str | None = None
    """What the last proof by compiling was for; None: there was none."""


@dataclass(frozen=True)
class CudaState:
    """The trees by path, the GPUs' models by the driver, and the hash of the shells' profile."""

    distribution: Distribution | None = None
    homes: dict[str, CudaHome] = field(default_factory=dict)
    gpus: tuple[str, ...] = ()
    profile_sha256: str | None = None


class CudaHomes(FactBase[CudaState]):
    """The CUDA trees of all venvs."""

    def command(self) -> StringCommand:
        words = (QuoteString(str(layout.VENVS)), QuoteString(PROFILE))
        return StringCommand("sh", "-c", QuoteString(_READ), "sh", *words)

    @staticmethod
    def default() -> CudaState:
        return CudaState()

    def process(self, output: list[str]) -> CudaState:
        homes: dict[str, CudaHome] = {}
        home = CudaHome()
        for key, _, value in (line.partition(" ") for line in output):
            if key == "home":
                home = homes[f"{layout.VENVS}/{value}"] = CudaHome()
            elif key == "lacks":
                home.lacks.add(value)
            elif key == "link":
                # The last of several versions of one library would be a guess; the first is too,
                # but the wheels ship one.
                home.unlinked.setdefault(*value.split())
            elif key == "proved":
                home.proved = value
        rows = [line.split() for line in output]
        gpus = tuple(line.removeprefix("gpu ") for line in output if line.startswith("gpu "))
        profile = next((row[1] for row in rows if row[0] == "profile"), None)
        return CudaState(distribution(rows), homes, gpus, profile)
