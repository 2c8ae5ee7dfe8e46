#!/bin/sh
# Makes the device nodes of this node's GPUs: /dev/nvidiaN, nvidiactl, nvidia-uvm, nvidia-uvm-tools
# and /dev/nvidia-caps. Nothing else makes all of them before containers start: udev has no rule for
# them, and the driver's programs make some when they are first used. The major of nvidia-uvm is
# another one after a load, so a node with an old number is replaced.
#
# `gpu_nodes.sh` makes, `gpu_nodes.sh check` only tells. Exit 1 and one line: what lacks. Exit 3: the
# node has no GPU but those of VMs.
# The second argument is the root of another tree, for tests.
set -u
what=${1:-make} tree=${2:-}
dev=$tree/dev root=$tree gpu_lock=$tree/run/lock/stoker/gpu.lock
stand_in=$tree/var/lib/stoker-gpu
lacking=

lacks() { lacking="$lacking${lacking:+; }$1"; }

# The sandbox's driver shows itself elsewhere; see stoker/recovery/machine.py.
if [ ! -e "$tree/sys/module/nvidia" ] && [ ! -e "$tree/proc/driver/nvidia" ] &&
    grep -qs '"stand_in"' "$stand_in/state.json"; then
    root=$stand_in/kernel
fi
driver=$root/proc/driver/nvidia

major() { sed -n "/^Block/q; s/^ *\([0-9]*\) $1\$/\1/p" "$root/proc/devices" 2>/dev/null | head -n 1; }

# Numbers of one of the driver's own nodes, `major minor`.
numbers() {
    if [ "$root" != "$tree" ]; then
        tr -d ' \n' <"$root/nodes.json" | sed -n "s/.*\"$1\":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/p"
        return
    fi
    case $1 in
    nvidiactl) echo 195 255 ;;
    nvidia-uvm) set -- "$(major nvidia-uvm)" && echo "$1${1:+ 0}" ;;
    nvidia-uvm-tools) set -- "$(major nvidia-uvm)" && echo "$1${1:+ 1}" ;;
    *) echo 195 "${1#nvidia}" ;;
    esac
}

# Whether the node at $1 is the character device $2:$3.
right() { [ -c "$1" ] && [ "$(stat -Lc '%t %T' "$1")" = "$(printf '%x %x' "$2" "$3")" ]; }

# nvidia-modprobe is told what by $5 and following; without it the node is made here.
node() {
    path=$1 number=$2 minor=$3 mode=$4
    shift 4
    right "$path" "$number" "$minor" && return
    if [ -d "$path" ] || { [ -f "$path" ] && [ -s "$path" ]; }; then
        lacks "$path is no device and not empty, look at it and take it away"
        return
    fi
    if [ "$what" = check ]; then
        lacks "$path is not the device $number:$minor"
        return
    fi
    [ ! -f "$path" ] || rm -f -- "$path"
    if command -v nvidia-modprobe >/dev/null; then
        timeout -k 5 30 nvidia-modprobe "$@" >/dev/null 2>&1 9>&-
    fi
    right "$path" "$number" "$minor" && return
    # Renamed into place: the node is never missing. Modes are those the driver was told.
    mkdir -p -- "${path%/*}" && rm -f -- "$path.stoker-new" &&
        mknod -m "$mode" "$path.stoker-new" c "$number" "$minor" &&
        chown "$(parameter DeviceFileUID):$(parameter DeviceFileGID)" "$path.stoker-new" &&
        mv -fT -- "$path.stoker-new" "$path" ||
        lacks "$path cannot be made"
}

# The PCI addresses of NVIDIA's GPUs that no VM has.
gpus() {
    for gpu in "$root"/sys/bus/pci/devices/*; do
        read -r vendor <"$gpu/vendor" && read -r class <"$gpu/class" || continue
        case $vendor$class in
        0x10de0x030[02]*)
            case $(readlink "$gpu/driver") in
            */vfio-pci) ;;
            *) echo "${gpu##*/}" ;;
            esac
            ;;
        esac
    done 2>/dev/null
}

parameter() {
    set -- "$(sed -n "s/^$1: *\([0-9]*\)\$/\1/p" "$driver/params" 2>/dev/null)"
    echo "${1:-0}"
}

module() {
    [ ! -e "$root/sys/module/$1" ] || return 0
    if [ "$what" = check ]; then
        lacks "the module $1 is not loaded"
    elif ! said=$(timeout -k 5 90 modprobe "$1" 2>&1 9>&-); then
        lacks "the module $1 cannot be loaded (${said:-no message})"
    fi
}

own() {
    name=$1
    shift
    set -- "$name" "$(numbers "$name")" "$@"
    if [ -z "$2" ]; then
        lacks "the driver has no number for $dev/$1"
    else
        number=${2% *} minor=${2#* }
        shift 2
        node "$dev/$name" "$number" "$minor" "$mode_of_nodes" "$@"
    fi
}

every() {
    mode_of_nodes=$(printf %o "$(parameter DeviceFileMode)")
    [ "$mode_of_nodes" != 0 ] || mode_of_nodes=666
    for address in $(gpus); do
        information=$driver/gpus/$address/information
        gpu=$(sed -n 's/^Device Minor:[[:space:]]*\([0-9]*\)[[:space:]]*$/\1/p' "$information" \
            2>/dev/null)
        if [ -n "$gpu" ]; then
            own "nvidia$gpu" -c "$gpu"
        else
            # An old card for a screen, for instance. Whoever asks for it is refused by name.
            [ "$what" = check ] ||
                echo "the driver did not take the GPU $address, see dmesg | grep NVRM" >&2
        fi
    done
    own nvidiactl -c 255
    if [ -e "$root/sys/module/nvidia_uvm" ]; then
        own nvidia-uvm -u -c 0
        own nvidia-uvm-tools -u -c 0
    fi
    capabilities
}

capabilities() {
    caps=$(major nvidia-caps)
    [ -n "$caps" ] || return 0
    for file in $(find "$driver/capabilities" -type f 2>/dev/null); do
        minor=$(sed -n 's/^DeviceFileMinor: *\([0-9]*\)$/\1/p' "$file")
        mode=$(sed -n 's/^DeviceFileMode: *\([0-9]*\)$/\1/p' "$file")
        [ -z "$minor" ] || node "$dev/nvidia-caps/nvidia-cap$minor" "$caps" "$minor" \
            "$(printf %o "${mode:-256}")" -f "$file"
    done
}

# A recovery takes modules away and brings them back under this lock.
locked() {
    # A redirection of `exec` itself that fails would end the shell.
    mkdir -p -- "${gpu_lock%/*}" && command exec 9>>"$gpu_lock" || return 0
    flock -w 90 9 || { lacks "a recovery is under way, see $gpu_lock" && return 1; }
    printf '{"who": "stoker-gpu-nodes.service", "since": "%s", "pid": %d}' \
        "$(date '+%Y-%m-%d %H:%M:%S %Z')" $$ >"$gpu_lock"
}

[ -n "$(gpus)" ] || exit 3
if [ "$what" = check ] || locked; then
    module nvidia && module nvidia_uvm
    [ ! -e "$root/sys/module/nvidia" ] || every
    exec 9>&-
fi
if [ "$what" != check ] && [ -e "$root/sys/module/nvidia" ] && command -v nvidia-smi >/dev/null; then
    # Initialises each GPU, so that the first container finds it ready.
    said=$(timeout -k 5 60 nvidia-smi -L 2>&1) ||
        lacks "nvidia-smi -L fails ($(echo "$said" | tail -n 1))"
fi
[ -z "$lacking" ] && exit 0
echo "cannot pass every GPU to containers: $lacking; then: systemctl restart stoker-gpu-nodes" >&2
exit 1
