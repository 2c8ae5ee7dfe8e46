"""Files into and out of a container, as the commands that do it there.

A file is written beside its place and renamed over it: at every moment there is the whole old one
or the whole new one. From its first byte it has the mode and owner of the file that it replaces, or
0600 and its writer as owner.
"""

import secrets

# $1 the path, $2 its size in bytes, $3 a word nobody else knows. A link is followed, as by `cat >`.
# The new file is reached through descriptor 9 alone: in a folder that is not ours its name may
# mean something else by now. Needs only what a bare container (or BusyBox) has.
_PUT = r"""
path=$1; size=$2
if [ -L "$path" ]; then path=$(readlink -f -- "$path"; echo /); path=${path%??}; fi
case $path in */*) folder=${path%/*}/;; *) folder=./;; esac
refuse() { echo "$1" >&2; exit 1; }
if [ -e "$path" ] && [ ! -f "$path" ]; then refuse "it is there and is no regular file"; fi
if [ ! -d "$folder" ]; then refuse "no such folder"; fi
new=$folder.stoker-$3
umask 077
set -C
exec 9>"$new" || exit 1
trap 'rm -f -- "$new"' EXIT
trap 'exit 143' TERM HUP INT
if [ -e "$path" ]; then
  chown "$(stat -c %u:%g -- "$path")" /proc/self/fd/9 || exit 1
  chmod "$(stat -c %a -- "$path")" /proc/self/fd/9 || exit 1
fi
cat >&9 || exit 1
got=$(stat -L -c %s /proc/self/fd/9)
if [ "$got" != "$size" ]; then refuse "$got of $size bytes arrived"; fi
mv -f -- "$new" "$path" || exit 1
trap - EXIT
"""


def put_words(path: str, size: int) -> list[str]:
    """The words that make standard input, of `size` bytes, the file `path`."""
    return ["sh", "-c", _PUT, "put", path, str(size), secrets.token_hex(8)]


def get_words(path: str) -> list[str]:
    """The words that print the file `path`."""
    return ["cat", "--", path]
