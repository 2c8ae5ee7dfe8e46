#!/bin/sh
# Copies a model from disk into memory: stage_model.sh SOURCE DESTINATION
# Whole or not at all: copied beside, marked, then renamed. Quick if it is there already. Only what
# carries our mark is ever replaced: a copy that somebody made by hand may be the only one.
# The copy's pages belong to this container's memory for as long as it lies there.
set -eu
source=$1 destination=$2
partial=$destination.partial mark=$destination/.staged

say() { echo "stage: $*"; }
refuse() { echo "cannot stage $source in $destination: $*" >&2; exit 1; }

[ -d "$source" ] || refuse "there is no such directory; check model.staged_from of the flag set"
folder=$(dirname "$destination")
mkdir -p "$folder"
# Two flag sets may serve one copy: the second one finds it there.
exec 9<"$folder"
flock -n 9 || { say "waiting for another copy into $folder"; flock 9; }
# Which files, how long and of when: another download of the model is another state.
state=$(cd "$source" && find -L . -type f ! -name .staged -printf '%P %s %T@\n' | LC_ALL=C sort | sha256sum)
if [ -f "$mark" ] && [ "$(cat "$mark")" = "$state" ]; then
    say "$destination is there"
    exit 0
fi
rm -rf "$partial"
needed=$(du -sk --apparent-size -L "$source" | cut -f1)
if [ -e "$destination" ]; then
    [ -f "$mark" ] || refuse "something is there that Stoker did not put; move or remove it"
    # An outdated copy goes first; its memory is counted as free. It loses its name at once.
    mv "$destination" "$partial"
    rm -rf "$partial"
fi
free=$(df -k --output=avail "$folder" | tail -n 1)
memory=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
[ "$memory" -lt "$free" ] && free=$memory
[ "$needed" -lt "$free" ] || refuse \
    "it needs $((needed / 1024)) MiB and $((free / 1024)) MiB of memory are free; give the container more memory or serve it from disk"
say "copying $((needed / 1024)) MiB"
cp -rL --preserve=timestamps "$source" "$partial" &
copy=$!
trap 'kill "$copy" 2>/dev/null; rm -rf "$partial"' TERM INT
waited=0
while kill -0 "$copy" 2>/dev/null; do
    sleep 1
    waited=$((waited + 1))
    [ $((waited % 10)) -ne 0 ] ||
        say "$(($(du -sk --apparent-size "$partial" | cut -f1) / 1024)) of $((needed / 1024)) MiB"
done
wait "$copy" || { rm -rf "$partial"; refuse "the copy failed; its own words are above"; }
chmod -R a+rX,go-w "$partial"
printf '%s\n' "$state" > "$partial/.staged"
mv "$partial" "$destination"
say "$destination is whole"
