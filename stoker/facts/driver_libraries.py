"""The driver's libraries in a container, who uses which, and the module that its node has."""

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.container.libraries import CONF, CONF_TEXT, HOME, Inside, Library, Use
from stoker.health.driver_folders import CURRENT, FOLDERS
from stoker.recovery.machine import STAND_IN

# The loader's cache tells which file of a name comes first; links lead to the version. What is gone
# since the cache was made is taken by nobody.
_READ = r"""
home=$1 current=$2 conf=$3 text=$4 loaded=$5
shift 5
for folder; do
    for file in "$folder"/libcuda.so.* "$folder"/libnvidia-ml.so.*; do
        [ -f "$file" ] && [ ! -L "$file" ] && readlink -f -- "$file"
    done
done 2>/dev/null | sort -u | grep -E '\.so\.[0-9]{2,4}(\.[0-9]+)+$' | while read -r file; do
    package=
    case $file in
    *.so."$loaded") ;;
    *) package=$(dpkg -S "$file" 2>/dev/null | sed -n 's/^\([^ ,]*\): .*/\1/p' | head -n 1) ;;
    esac
    echo "own $file $package"
done
ldconfig -p 2>/dev/null | awk '/x86-64/ && $1 ~ /^lib(cuda|nvidia-ml)\.so\.1$/ && !seen[$1]++ {
    print $1, $NF }' | while read -r name file; do
    [ -e "$file" ] && echo "takes ${name%.so.1} $(readlink -f -- "$file")"
done
for tree in "$home"/*/lib; do
    tree=${tree%/lib}
    case $tree in *.stoker-new | "$current") continue ;; esac
    [ -f "$tree/lib/libcuda.so.${tree##*/}" ] && echo "tree ${tree##*/}"
done
[ -L "$current" ] && echo "current $(readlink "$current")"
[ -f "$conf" ] && [ "$(cat "$conf")" = "$text" ] && echo "conf"
echo read
"""
_PACKAGES = r"""
format='package ${Package} ${db:Status-Want} ${Version} ${db:Status-Status}\n'
dpkg-query --show --showformat "$format" '*nvidia*' 'libcuda*' 'libnv*' 'cuda-drivers*' 2>/dev/null
true
"""
# A process that cannot be looked into may have any of them: it is told with no file but `/`. Init
# has none.
USES = r"""
uses() {
    library='/[^ ]*/lib(cuda|nvidia-[a-z0-9-]+)\.so\.[0-9.]+( \(deleted\))?$'
    service='s/.*\/\([^/]*\.service\)\(\/.*\)\{0,1\}$/\1/p'
    LC_ALL=C grep -HoE "$library" /proc/[0-9]*/maps 2>&1 | sed -n \
        -e 's|^/proc/\([0-9]*\)/maps:|\1 |p' \
        -e 's|^grep: /proc/\([0-9]*\)/maps: Permission denied$|\1 /|p' |
        sort -u | while read -r pid file; do
        [ "$pid" -ne 1 ] || continue
        unit=$(sed -n "$service" "/proc/$pid/cgroup" 2>/dev/null | head -n 1)
        echo "use $pid ${unit:--} $file"
    done
}
"""
_MODULE = f"""
driver=
[ -d /sys/module/nvidia ] || [ ! -d {STAND_IN}/kernel ] || driver={STAND_IN}/kernel
cat "$driver/sys/module/nvidia/version" 2>/dev/null
true
"""


class DriverLibraries(FactBase[Inside | None]):
    """`Inside`, of a node whose module of version `loaded` is loaded. None: it was not read."""

    def command(self, loaded: str) -> StringCommand:
        words = (HOME, CURRENT, CONF, CONF_TEXT.strip(), loaded, *FOLDERS)
        return StringCommand("sh", "-c", QuoteString(_READ), "sh", *map(QuoteString, words))

    def process(self, output: list[str]) -> Inside | None:
        rows = [line.split(" ") for line in output]
        if ["read"] not in rows:
            return None
        return Inside(
            own=tuple(Library(row[1], row[2]) for row in rows if row[0] == "own"),
            takes={row[1]: row[2] for row in rows if row[0] == "takes"},
            trees=tuple(row[1] for row in rows if row[0] == "tree"),
            current=next((row[1] for row in rows if row[0] == "current"), ""),
            conf=["conf"] in rows,
        )


class DriverPackages(FactBase[tuple[tuple[str, str, str], ...]]):
    """Name, what dpkg is to do with it, and version of each package that may be a driver's."""

    @staticmethod
    def default() -> tuple[tuple[str, str, str], ...]:
        return ()

    def command(self) -> StringCommand:
        return StringCommand("sh", "-c", QuoteString(_PACKAGES))

    def process(self, output: list[str]) -> tuple[tuple[str, str, str], ...]:
        rows = [line.split(" ") for line in output if line.startswith("package ")]
        return tuple(
            (name, want, version)
            for _, name, want, version, state in (row for row in rows if len(row) == 5)
            if state == "installed"
        )


class DriverUses(FactBase[list[Use]]):
    """The processes that have mapped libraries of the driver; slow where there are many."""

    @staticmethod
    def default() -> list[Use]:
        return []

    def command(self) -> StringCommand:
        return StringCommand("sh", "-c", QuoteString(f"{USES}\nuses\ntrue"))

    def process(self, output: list[str]) -> list[Use]:
        return uses(output)


def uses(output: list[str]) -> list[Use]:
    """Of the lines that `USES` prints, among others."""
    rows = [line.split(" ", 3) for line in output if line.startswith("use ")]
    return [Use(int(row[1]), row[2].strip("-"), row[3]) for row in rows if len(row) == 4]


LOADED = ("sh", "-c", _MODULE)
"""Run on the node: prints the version of its loaded module; nothing: none is."""
INSTALLED = (
    "sh",
    "-c",
    "{ modinfo -F version nvidia || modinfo -F version nvidia-current; } 2>/dev/null; true",
)
"""The same of the module on its disk, which Debian's own packages call nvidia-current."""
