"""What is run, on the node and in a container, to bring the driver's libraries into it.

A tree of ours is complete when it has its name: it is built as `<version>.stoker-new`. Each of
these may be killed anywhere and be run again.
"""

from stoker.facts.driver_libraries import USES
from stoker.operations.scratch import SCRATCH

PREPARE = r"""
set -eu
new=$1
rm -rf -- "$new"
install -d -m 0755 -- "${new%/*}" "$new"
"""
"""In the container, before anything is sent."""

# What a driver needs is named by its version, but for one compiler of its own that libcuda opens
# (libnvidia-nvvm70.so.4). The files travel from the node into the container, and nowhere else; what
# arrived is held against the sums of what was sent. A container that was frozen meanwhile takes
# nothing; its host waits 300 s for that to end.
FROZEN = 75
"""SEND's exit code where the container is."""
SEND = (
    SCRATCH
    + r"""
set -euo pipefail
vmid=$1 version=$2 new=$3 kind=$4 source=$5
shift 5
scratch /var/tmp/stoker-driver
# A child that is ended before it has laid down its parent's traps would run them.
trap '[ "$BASHPID" != $$ ] || rm -rf -- "$work"' EXIT
trap 'exit 143' TERM INT HUP
mkdir -p "$work/files" "$work/tree/lib" "$work/tree/bin"
fail() { echo "$1" >&2; exit 1; }
case $kind in
run)
    sh "$source" --extract-only --target "$work/files/run" >"$work/said" 2>&1 </dev/null ||
        fail "$source does not extract: $(tail -n 1 "$work/said")"
    set -- "$work/files/run"
    smi=$work/files/run/nvidia-smi
    ;;
packages)
    for package in "$source"/*.deb; do
        [ -e "$package" ] || fail "$source holds no .deb"
        dpkg-deb -x "$package" "$work/files"
    done
    roots=()
    for folder; do roots+=("$work/files$folder"); done
    set -- "${roots[@]}"
    smi=$(find "$work/files" -type f -name nvidia-smi | head -n 1)
    ;;
*) smi=$(command -v nvidia-smi || true) ;;
esac
for folder; do
    [ -d "$folder" ] || continue
    find "$folder/" -maxdepth 1 -type f \( -name "lib*.so.$version" \
        -o -name 'libnvidia-nvvm[0-9]*.so.[0-9]' -o -name 'libnvidia-nvvm.so.[0-9].[0-9].[0-9]' \) \
        -exec ln -sf -t "$work/tree/lib" -- {} +
done
if [ ! -e "$work/tree/lib/libcuda.so.$version" ] ||
    [ ! -e "$work/tree/lib/libnvidia-ml.so.$version" ]; then
    there=
    for folder; do
        for file in "$folder"/libcuda.so.*.*; do
            [ ! -f "$file" ] || [ -L "$file" ] || there="$there ${file##*.so.}"
        done
    done
    fail "no libcuda and libnvidia-ml of $version; libcuda is there in:${there:- no version}"
fi
if [ -f "$smi" ]; then ln -s -- "$(readlink -f -- "$smi")" "$work/tree/bin/nvidia-smi"; fi
cd "$work/tree"
find -L . -type f -exec sha256sum {} + >"$work/sums"
fail_frozen() {
    echo "CT $vmid is frozen, by a backup for instance; when that has ended, run this again" >&2
    exit 75
}
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
group=$root/lxc/$vmid
frozen() {
    grep -qs 'frozen 1' "$group/ns/cgroup.events" ||
        grep -qs '^1' "$group/cgroup.freeze" "$group/ns/cgroup.freeze"
}
attached() {
    exec lxc-attach -n "$vmid" --clear-env -- /bin/sh -c '
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
        export PATH LC_ALL
        cd "$1" && shift && exec "$@"' sh "$new" "$@" 9>&-
}
ended_when_frozen() {
    local since=$SECONDS
    while sleep 5 && kill -0 "$1"; do
        frozen || since=$SECONDS
        [ $((SECONDS - since)) -lt 300 ] || { echo >"$work/frozen" && kill -KILL "$1"; }
    done
}
inside() {
    local code=0 command watcher
    attached "$@" <&0 >"$work/told" 2>&1 &
    command=$!
    ended_when_frozen "$command" </dev/null >/dev/null 2>&1 9>&- &
    watcher=$!
    wait "$command" 2>/dev/null || code=$?
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
    [ ! -e "$work/frozen" ] || fail_frozen
    cat "$work/told" >&2
    return "$code"
}
! frozen || fail_frozen
tar -chf - --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX . | inside tar -xf -
inside sha256sum --check --quiet --strict - <"$work/sums"
"""
)
"""On the node: VMID, version, the tree, kind of source (`node`, `run`, `packages`), its path, and
the folders that libraries lie in."""

_TAKES = r"""
takes() { ldconfig -p | awk -v n="$1" '/x86-64/ && $1 == n { print $NF; exit }'; }
"""

_PRUNE = (
    USES
    + r"""
prune() {
    found=$(uses)
    echo "$found"
    case $found in *" /") return ;; *" /
"*) return ;; esac
    for tree in "$home"/*; do
        case $tree in *.stoker-new) rm -rf -- "$tree"; continue ;; esac
        [ -d "$tree" ] && [ ! -L "$tree" ] && [ "$tree" != "$home/$version" ] || continue
        case $found in *" $tree/"*) ;; *) rm -rf -- "$tree" ;; esac
    done
}
"""
)

SWITCH = (
    _TAKES
    + _PRUNE
    + r"""
set -eu
home=$1 version=$2 current=$3 conf=$4 text=$5 smi=$6 sent=$7
tree=$home/$version
if [ -n "$sent" ]; then
    ln -sfn libcuda.so.1 "$tree.stoker-new/lib/libcuda.so"
    ldconfig -n "$tree.stoker-new/lib"
    sync -f "$tree.stoker-new"
    rm -rf -- "$tree"
    mv -T -- "$tree.stoker-new" "$tree"
fi
linked() {
    ln -sfn -- "$1" "$2.stoker-new"
    mv -fT -- "$2.stoker-new" "$2"
}
linked "$version" "$current"
install -d -m 0755 -- "${conf%/*}" "${smi%/*}"
printf '%s\n' "$text" >"$conf.stoker-new"
chmod 0644 "$conf.stoker-new"
mv -fT -- "$conf.stoker-new" "$conf"
ldconfig
case $(readlink "$smi" || true) in "$home"/*) rm -f -- "$smi" ;; esac
if [ -x "$tree/bin/nvidia-smi" ] && [ ! -e "$smi" ]; then
    linked "$current/bin/nvidia-smi" "$smi"
fi
for name in libcuda.so.1 libnvidia-ml.so.1; do
    file=$(takes "$name")
    if [ "$(readlink -f -- "$file")" != "$tree/lib/${name%.1}.$version" ]; then
        echo "the loader takes ${file:-no $name}, not $tree/lib/$name; see /etc/ld.so.conf.d" >&2
        exit 1
    fi
done
prune
"""
)
"""In the container: the tree of that version becomes the one in use; `sent`: it was sent just now,
and takes the place of a damaged one."""

WITHDRAW = (
    _PRUNE
    + r"""
set -eu
home=$1 version=$2 current=$3 conf=$4 smi=$6
rm -f -- "$conf"
ldconfig
case $(readlink "$smi" || true) in "$home"/*) rm -f -- "$smi" ;; esac
rm -f -- "$current"
version=
prune
"""
)
"""In the container: its own libraries are the ones in use, and ours go."""

TIDY = (
    _PRUNE
    + r"""
set -eu
home=$1 version=$2
prune
"""
)
"""In the container: our trees go that are neither the one in use nor any process's."""

# `apt-get remove` may want more than it is told; what is no driver's is never taken along.
REMOVE = r"""
set -eu
packages=$1 versions=$2
shift 2
if [ -n "$packages" ]; then
    export DEBIAN_FRONTEND=noninteractive LC_ALL=C
    planned=$(apt-get -s --allow-change-held-packages remove $packages) || exit 1
    more=$(echo "$planned" | awk '$1 == "Remv" && $2 !~ /nvidia|^libcuda|^libnv|^cuda-drivers/ {
        print $2 }')
    if [ -n "$more" ]; then
        echo "apt would remove $(echo $more) too; remove $packages by hand" >&2
        exit 1
    fi
    apt-get -qq -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 --allow-change-held-packages \
        remove $packages
fi
for version in $versions; do
    for folder; do
        for file in "$folder"/lib*.so*; do
            [ -L "$file" ] || continue
            case $(readlink -f -- "$file") in
            "$folder"/lib*.so."$version") dpkg -S "$file" >/dev/null 2>&1 || rm -f -- "$file" ;;
            esac
        done
        for file in "$folder"/lib*.so."$version"; do
            [ -f "$file" ] && [ ! -L "$file" ] || continue
            dpkg -S "$file" >/dev/null 2>&1 || rm -f -- "$file"
        done
    done
done
ldconfig
"""
"""In the container: these packages, and what no package owns of these versions in the folders."""
