"""The wheel store of a node."""

from collections.abc import Collection, Generator

from pyinfra import host, inventory, state
from pyinfra.api import FileUploadCommand, QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.facts.interpreter import Interpreter
from stoker.facts.mount_points import MountPoint, MountPoints
from stoker.facts.wheel_store import WheelStore
from stoker.operations.fetched import placed
from stoker.operations.refusal import refused
from stoker.refused import Refused
from stoker.serving import layout, store
from stoker.serving.lock import Lock, Release, Wheel
from stoker.serving.tools import Tool

# pip writes to a folder of its own and a file moves to its name only when pip has checked its hash.
# The requirements come by stdin and stay there: they may name an index with a password in it.
_FETCH = """
set -eu
store=$1 pip=$2
shift 2
exec 9>"$store/.lock"
flock 9
rm -rf -- "$store/.incoming"
mkdir -m 0700 -- "$store/.incoming"
TMPDIR=$store/.incoming python3 -I "$pip/pip" download --quiet --disable-pip-version-check \
--no-input --no-cache-dir --no-deps --require-hashes --only-binary=:all: --progress-bar=off \
--requirement /dev/stdin --dest "$store/.incoming" "$@"
chmod 0644 -- "$store/.incoming"/*.whl
mv -f -- "$store/.incoming"/*.whl "$store/"
rm -rf -- "$store/.incoming"
"""


def fetch(pip: str, python: str, wheels: list[Wheel], index: dict[str, str]) -> StringCommand:
    """The command that brings these wheels into the store of the node it runs on."""
    words = ["--python-version", python, "--implementation", "cp"]
    words += ["--abi", f"cp{python.replace('.', '')}"]
    for name in store.platforms(wheels):
        words += ["--platform", name]
    if "ca_file" in index:
        words += ["--cert", index["ca_file"]]
    lines = [f"--index-url {index['url']}"] if "url" in index else []
    return StringCommand(
        *("sh", "-c", QuoteString(_FETCH), "sh", str(layout.WHEELS), QuoteString(pip)),
        *(QuoteString(word) for word in words),
        _stdin="\n".join([*lines, *(wheel.requirement for wheel in wheels), ""]),
    )


@operation()
def present(
    releases: dict[str, list[Release]], pip: Tool, index: dict[str, str] | None = None
) -> Generator[PyinfraCommand, None, None]:
    """The node's store holds the wheels that these hosts need.

    + releases: host name -> what is to be installed there; its interpreter is read from the host
    + pip: the pinned pip that fetches
    + index: `url` and `ca_file` (on the node) to fetch with; unset: pip's own configuration
    """
    found = host.get_fact(WheelStore)
    try:
        locks = [lock for name in releases for lock in _locks_of(name, releases[name])]
        wanted = store.missing(locks, found.sizes)
        if not wanted:
            host.noop(f"the store holds the wheels of {len(locks)} locks")
            return
        _require_room(wanted, found.free_bytes)
        pip_wheel = layout.OPT / "pip" / pip.version / pip.file
        folders = (str(layout.WHEELS), str(pip_wheel.parent))
        yield StringCommand("install", "-d", "-m", "0755", *folders)
        yield FileUploadCommand(str(placed(pip)), str(pip_wheel))
    except Refused as error:
        yield refused(error)
        return
    total, done, sizes = store.size_bytes(wanted), 0, dict(found.sizes)
    for lock in locks:
        for portion in store.portions(store.missing([lock], sizes)):
            host.log(f"fetching {portion[0].file} ... ({store.gb(done)} of {store.gb(total)})")
            yield fetch(str(pip_wheel), lock.python, portion, index or {})
            sizes.update({wheel.file: wheel.size_bytes for wheel in portion})
            done += store.size_bytes(portion)


def _locks_of(name: str, releases: list[Release]) -> list[Lock]:
    """The locks for a host's interpreter; none where there is no saying (its own operations say
    why)."""
    container = inventory.get_host(name)
    if not releases or not container or container not in state.active_hosts:
        return []
    found = container.get_fact(Interpreter)
    try:
        return [release.lock_for(found.python) for release in releases] if found else []
    except Refused:
        return []


def _require_room(wanted: list[Wheel], free_bytes: int | None) -> None:
    if free_bytes is None:
        raise Refused(
            f"cannot fetch wheels: {layout.WHEELS} of {host.name} was not read; see why above"
        )
    total = store.size_bytes(wanted)
    # Beside the wheels themselves, pip keeps a portion in its own folder while it fetches it.
    need = total + store.PORTION_BYTES
    if free_bytes < need:
        raise Refused(
            f"cannot fetch {len(wanted)} wheels: they need {store.gb(total)} and "
            f"{store.gb(store.PORTION_BYTES)} while fetching, {layout.WHEELS} has "
            f"{store.gb(free_bytes)} free; make {store.gb(need - free_bytes)} free on the node"
        )


# Proxmox changes no mount of a protected container, whatever the same call says of that. Where this
# ends in between, the container's own operation declares the protection again.
_UNPROTECTED = """
vmid=$1
shift
pct set "$vmid" --protection 0 || exit
pct set "$vmid" "$@"
code=$?
pct set "$vmid" --protection 1 || exit
exit $code
"""


@operation()
def mounted(
    vmids: list[int], protected: Collection[int] = ()
) -> Generator[PyinfraCommand, None, None]:
    """These containers of the node see its wheel store, read-only, at the same path.

    + protected: those of them whose protection is declared: it is taken away for the moment

    A new mount point is plugged into a running container at once. A mount point of somebody else is
    never touched.
    """
    configs = host.get_fact(MountPoints, vmids=vmids)
    for vmid in vmids:
        try:
            key = _free_key(vmid, configs.get(vmid))
        except Refused as error:
            yield refused(error)
            return
        if key:
            value = f"{layout.WHEELS},mp={layout.WHEELS},ro=1"
            words = (str(vmid), f"--{key}", value)
            if vmid in protected:
                yield StringCommand("sh", "-c", QuoteString(_UNPROTECTED), "sh", *words)
            else:
                yield StringCommand("pct", "set", *words)


def _free_key(vmid: int, mounts: dict[str, MountPoint] | None) -> str | None:
    """The `mpN` to use; None when the mount is there already, or the container is not (its own
    operations say so)."""
    if mounts is None:
        return None
    path = str(layout.WHEELS)
    for key, mount in mounts.items():
        if mount.target == path and mount.source == path:
            return None
        if mount.target == path:
            raise Refused(
                f"cannot mount the wheel store into container {vmid}: its {key} mounts "
                f"{mount.source} at {path}; remove that: pct set {vmid} --delete {key}"
            )
    return next(f"mp{n}" for n in range(256) if f"mp{n}" not in mounts)
