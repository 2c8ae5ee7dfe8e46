#!/bin/sh
# Puts back what served before a switch that nobody confirmed: put_back.sh [STATE [LEASE [ETC]]]
# Does nothing while there is no switch, or while its run shows that it lives: LEASE holds the uptime
# until which it does. Each step can be repeated, so this may be killed anywhere and run again: the
# journal of the switch goes last.
set -u
umask 022
state=${1:-/var/lib/stoker} lease=${2:-/run/stoker/switch-lease} etc=${3:-/etc/stoker}
switch=$state/switch timer=stoker-put-back.timer

say() { echo "put back: $*"; }
listed() { grep -qxF -- "$1" "$switch/$2" 2>/dev/null; }
digest() { sed -n 's/^STOKER_DIGEST="\{0,1\}\([0-9a-f]*\).*/\1/p'; }

held() {
    until=$(cat "$lease" 2>/dev/null) && read -r now _ </proc/uptime || return 1
    [ "${now%%.*}" -lt "${until:-0}" ] 2>/dev/null
}

# Whether the unit's process is the one that ran before: it was not stopped yet, or serves again.
as_before() {
    listed "$1" ran || return 1
    pid=$(systemctl show -p MainPID --value "$1")
    [ "${pid:-0}" -gt 0 ] || return 1
    runs=$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | digest)
    had=$(digest <"$switch/old$etc/${1%.service}.env" 2>/dev/null)
    [ -n "$runs" ] && [ "$runs" = "$had" ]
}

# A link needs no room, so a full disk hinders it not.
place() {
    from=$switch/old$1
    rm -f -- "$1.stoker-new"
    if [ ! -e "$from" ] && [ ! -L "$from" ]; then
        rm -f -- "$1"
        return
    fi
    # It was linked there by one that was killed: mv would refuse to move a file onto itself.
    if [ ! -L "$from" ] && [ "$from" -ef "$1" ]; then return; fi
    mkdir -p -- "${1%/*}"
    [ -L "$from" ] || ln -- "$from" "$1.stoker-new" 2>/dev/null || true
    [ -e "$1.stoker-new" ] || cp -a -- "$from" "$1.stoker-new" || return 1
    mv -fT -- "$1.stoker-new" "$1"
}

mkdir -p "$state"
exec 9>"$state/switch.lock"
flock 9
if [ ! -d "$switch" ]; then
    systemctl stop --no-block "$timer" 2>/dev/null
    exit 0
fi
held && exit 0

stop='' start=''
while IFS= read -r unit; do
    # One that was as before may be on its way down: a start is nothing to it if it is not.
    listed "$unit" ran && start="$start $unit"
    as_before "$unit" || stop="$stop $unit"
done <"$switch/units"
stop="$stop $(cat "$switch/stages")"
# What is put back failed, or nobody knows what it is: it is not waited for longer than this.
if [ -n "${stop# }" ] && ! timeout "${STOKER_STOP_S:-20}" systemctl stop $stop 2>/dev/null; then
    systemctl kill --signal=KILL $stop 2>/dev/null
    systemctl stop $stop 2>/dev/null
fi
while IFS= read -r path; do
    place "$path" || { say "cannot put back $path; it is tried again"; exit 1; }
done <"$switch/paths"
while IFS= read -r copy; do
    rm -rf -- "$copy.partial"
    [ ! -f "$copy/.staged" ] || mv -- "$copy" "$copy.partial"
    rm -rf -- "$copy.partial"
done <"$switch/copies"
systemctl daemon-reload
for unit in $stop $start; do systemctl reset-failed "$unit" 2>/dev/null; done
for unit in $start; do
    systemctl start --no-block "$unit" || say "cannot start $unit; its status says why"
done
rm -rf "$switch.done"
{ date +%s; cat "$switch/units"; } >"$state/switch-undone.new" 2>/dev/null &&
    mv -f "$state/switch-undone.new" "$state/switch-undone"
mv -T "$switch" "$switch.done"
rm -rf "$switch.done" "$lease"
say "$(tr '\n' ' ' <"$state/switch-undone" 2>/dev/null | cut -d' ' -f2-)"
systemctl stop --no-block "$timer" 2>/dev/null
exit 0
