"""What the distribution itself must provide: packages and the service user."""

from collections.abc import Generator

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.facts.system import System
from stoker.operations.refusal import refused

# A run that was killed may have left dpkg in the middle of something. What was being unpacked must
# be reinstalled, which neither `--configure -a` nor `--fix-broken` alone does, and until then both
# fail. Unattended upgrades hold dpkg's lock for minutes; `apt-get update` knows no waiting for its
# own lock, so it is tried again.
_INSTALL = """
set -eu
export DEBIAN_FRONTEND=noninteractive
install() {
    apt-get -qq -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 \
        --fix-broken --no-install-recommends "$@"
}
said=$(dpkg --configure -a 2>&1) || echo "apt is to mend what dpkg cannot: $said"
tries=30
until apt-get -qq -o Acquire::Retries=3 update; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || exit 1
    sleep 10
done
torn=$(dpkg-query --show --showformat '${db:Status-Eflag} ${binary:Package}\n' |
    sed -n 's/^reinstreq //p')
[ -z "$torn" ] || install --reinstall install $torn
install install "$@"
"""


@operation()
def packages(
    by_distribution: dict[tuple[str, str], list[str]], account: str
) -> Generator[PyinfraCommand, None, None]:
    """The packages of the host's distribution are installed.

    + by_distribution: distribution and release, `("debian", "12")` -> names of packages
    + account: the service user; the fact is the one that `user` asks for too
    """
    every = sorted({name for names in by_distribution.values() for name in names})
    found = host.get_fact(System, account=account, packages=every)
    if found.distribution is None:
        yield refused(f"cannot install packages: {host.name} has no /etc/os-release; see its state")
        return
    key = (found.distribution.name, found.distribution.release)
    if key not in by_distribution:
        known = ", ".join(" ".join(one) for one in by_distribution)
        yield refused(
            f"cannot install packages: {host.name} runs {' '.join(key)}, Stoker knows {known}; "
            "make the container from one of these"
        )
        return
    lacking = [name for name in by_distribution[key] if name not in found.installed]
    if lacking:
        yield StringCommand("sh", "-c", QuoteString(_INSTALL), "sh", *lacking)
    else:
        host.noop(f"all {len(by_distribution[key])} packages are installed")


@operation()
def user(account: str, home: str, groups: list[str]) -> Generator[PyinfraCommand, None, None]:
    """The system user that the servers run as exists, in those of the groups that the host has."""
    found = host.get_fact(System, account=account, packages=[])
    if found.home is not None:
        host.noop(f"the user {account} exists")
        return
    yield StringCommand(
        *("sh", "-c", QuoteString(_ADD_USER), "sh", QuoteString(account), QuoteString(home)),
        *(QuoteString(group) for group in groups),
    )


_ADD_USER = """
set -eu
name=$1 home=$2 groups=
shift 2
for group in "$@"; do
    if getent group "$group" >/dev/null; then groups=${groups:+$groups,}$group; fi
done
# In one step: a user who is there is taken to be in the groups too.
exec useradd --system --user-group --shell /usr/sbin/nologin --home-dir "$home" --create-home \
${groups:+--groups "$groups"} "$name"
"""
