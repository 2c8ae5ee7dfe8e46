# One act of a switch, sent by the run: sh -c ... sh VERB SECONDS [STATE [LEASE]]
#   begin    a journal from standard input (base64 of a tar): what lies there now is put beside it
#   apply    the new files take their places
#   renew    the run is alive for SECONDS more
#   confirm  what is new stays
#   undo     the run gives up: put_back.sh does the rest
# Exits 3 if there is another switch (begin), or none any more (the others).
set -eu
umask 077
verb=$1 seconds=$2 state=${3:-/var/lib/stoker} lease=${4:-/run/stoker/switch-lease}
switch=$state/switch

renew() {
    read -r now _ </proc/uptime
    mkdir -p "${lease%/*}"
    echo $((${now%%.*} + seconds)) >"$lease.new"
    mv -f "$lease.new" "$lease"
}

case $verb in renew | undo) ;; *)
    [ -d "$state" ] || mkdir -m 755 -p "$state"
    exec 9>"$state/switch.lock"
    flock 9
    ;;
esac
case $verb in
begin)
    [ ! -d "$switch" ] || exit 3
    rm -rf "$switch.new" "$switch.done"
    mkdir "$switch.new"
    base64 -d | tar -xp -C "$switch.new"
    while IFS= read -r path; do
        [ -e "$path" ] || [ -L "$path" ] || continue
        mkdir -p "$switch.new/old${path%/*}"
        cp -a -- "$path" "$switch.new/old$path"
    done <"$switch.new/paths"
    find "$switch.new" -type f -exec sync {} +
    renew
    mv -T "$switch.new" "$switch"
    systemctl start stoker-put-back.timer
    ;;
apply)
    [ -d "$switch" ] || exit 3
    while IFS= read -r path; do
        if [ ! -e "$switch/new$path" ] && [ ! -L "$switch/new$path" ]; then
            rm -f -- "$path"
            continue
        fi
        [ -d "${path%/*}" ] || (umask 022 && mkdir -p -- "${path%/*}")
        cp -a -- "$switch/new$path" "$path.stoker-new"
        mv -fT -- "$path.stoker-new" "$path"
    done <"$switch/paths"
    systemctl daemon-reload
    ;;
renew)
    [ -d "$switch" ] || exit 3
    renew
    ;;
confirm)
    mv -T "$switch" "$switch.done" 2>/dev/null || exit 3
    systemctl stop stoker-put-back.timer
    rm -rf "$switch.done" "$lease"
    ;;
undo)
    rm -f "$lease"
    [ -d "$switch" ] || exit 3
    systemctl start --no-block stoker-put-back.service
    ;;
esac
