"""A folder of a script's own on a node; what a killed script left, the next one takes away."""

SCRATCH = r"""
scratch() {
    local old
    for old in "$1".*; do
        [ -d "$old" ] && [ ! -L "$old" ] && [ -O "$old" ] || continue
        if [ -e "$old/alive" ]; then
            flock -n "$old/alive" rm -rf -- "$old" || true
        elif [ -n "$(find "$old" -maxdepth 0 -mmin +1440)" ]; then
            rm -rf -- "$old"
        fi
    done
    work=$(mktemp -d "$1.XXXXXXXX") || exit 1
    exec 9>"$work/.alive"
    flock 9
    mv -- "$work/.alive" "$work/alive"
}
"""
"""For bash: `scratch /var/tmp/NAME` sets `work`. Whoever has descriptor 9 of it keeps the folder.

The lock has its name only once it is held: without it a folder is just being made, or older than a
day, when nobody made locks.
"""
