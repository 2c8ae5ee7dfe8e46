"""The venvs of a container: built from a lock and the node's wheels, offline."""

from collections.abc import Generator

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.facts.interpreter import Distribution
from stoker.facts.venvs import Venvs, VenvsState
from stoker.facts.wheel_store import Store, WheelStore
from stoker.operations.refusal import refused
from stoker.refused import Refused
from stoker.serving import layout, store
from stoker.serving.lock import Lock, Release
from stoker.serving.tools import Tool

CACHE = layout.VENVS / ".cache"
"""uv unpacks here and links from here: the same file system, so nothing is there twice."""

# The mark goes first, or a removal that was interrupted would leave a finished-looking ruin.
_REMOVE = 'rm -f -- "$1/.complete" && rm -rf -- "$1" "$2"'
_MARK = 'umask 022 && printf "%s\\n" "$2" > "$1.new" && mv -f -- "$1.new" "$1"'
_ALONE = ("sh", "-c", QuoteString('umask 022 && exec "$@"'), "sh")


@operation()
def synced(releases: list[Release], tool: Tool, kept: int) -> Generator[PyinfraCommand, None, None]:
    """There is a finished venv for the lock of each release, and no more older ones than useful.

    + releases: SGLang versions; which of their locks holds is read from the host
    + tool: the pinned uv
    + kept: how many of the others stay, the newest first

    Never removed are the wanted venvs and those that a unit on disk, the journal of a switch or a
    process uses. A venv's compiled kernels go with it.
    """
    found = host.get_fact(Venvs)
    try:
        locks = wanted(releases, found.distribution)
        unmade = [lock for lock in locks if not found.marked(_name(lock), ".complete")]
        for venv in found.venvs:
            if not venv.complete:
                yield removed(venv.name)
        if unmade:
            _require(unmade, host.get_fact(WheelStore), found)
    except Refused as error:
        yield refused(error)
        return
    for lock in unmade:
        yield from _built(lock, tool)
    if unmade or found.cache:
        yield StringCommand("rm", "-rf", str(CACHE))
    for name in superfluous(found, {_name(lock) for lock in locks}, kept):
        yield removed(name)
    for name in found.orphans:
        yield StringCommand("rm", "-rf", str(layout.CACHE / name))


def wanted(releases: list[Release], distribution: Distribution | None) -> list[Lock]:
    """The lock of each release for the host's interpreter."""
    if distribution is None:
        raise Refused(f"cannot choose a lock: {host.name} has no /etc/os-release; see its state")
    return [release.lock_for(distribution.python) for release in releases]


def superfluous(found: VenvsState, wanted: set[str], kept: int) -> list[str]:
    """Finished venvs that are neither wanted nor used nor among the `kept` newest of the others."""
    finished = sorted((v for v in found.venvs if v.complete), key=lambda v: v.made, reverse=True)
    others = [v.name for v in finished if v.name not in wanted | found.used]
    return others[kept:]


def removed(name: str) -> StringCommand:
    """The command that removes a venv so that what is left of it never counts as finished."""
    paths = (str(layout.VENVS / name), str(layout.CACHE / name))
    return StringCommand("sh", "-c", QuoteString(_REMOVE), "sh", *paths)


def marked(path: object, text: str) -> StringCommand:
    """The command that writes a one-line file at once or not at all."""
    words = (QuoteString(str(path)), QuoteString(text))
    return StringCommand("sh", "-c", QuoteString(_MARK), "sh", *words)


def _name(lock: Lock) -> str:
    return layout.venv_path(lock).name


def _require(locks: list[Lock], stored: Store, found: VenvsState) -> None:
    absent = store.missing(locks, stored.sizes)
    if absent:
        raise Refused(
            f"cannot install SGLang: {layout.WHEELS} lacks {len(absent)} of "
            f"{sum(len(lock.wheels) for lock in locks)} wheels ({absent[0].file} ...); the "
            f"node fetches and mounts them, so have it in the run too and see what it says; a "
            f"mount point that is still pending needs a restart of the container"
        )
    need = store.UNPACKED * sum(lock.size_bytes for lock in locks)
    if found.free_bytes < need:
        raise Refused(
            f"cannot install SGLang {', '.join(lock.sglang for lock in locks)}: it needs "
            f"{store.gb(need)}, {layout.VENVS} has {store.gb(found.free_bytes)} free; "
            f"make {store.gb(need - found.free_bytes)} free or enlarge the root file system"
        )


def _built(lock: Lock, tool: Tool) -> Generator[PyinfraCommand, None, None]:
    """A venv cannot be moved, so it is made in its place and marked when it is whole."""
    path = str(layout.venv_path(lock))
    uv = [*_ALONE, str(layout.uv_path(tool.version))]
    alone = ["--no-config", "--offline", "--no-python-downloads", "--quiet"]
    alone += ["--cache-dir", str(CACHE)]
    host.log(f"unpacking {len(lock.wheels)} wheels, {store.gb(lock.size_bytes)}, into {path}")
    yield StringCommand("install", "-d", "-m", "0755", str(layout.VENVS))
    yield StringCommand(*uv, "venv", *alone, "--python", f"/usr/bin/python{lock.python}", path)
    yield StringCommand(
        *(*uv, "pip", "sync", *alone, "--no-index", "--find-links", str(layout.WHEELS)),
        *("--require-hashes", "--link-mode", "hardlink"),
        *("--python", f"{path}/bin/python", "-"),
        _stdin=lock.requirements,
    )
    # The servers' user cannot write here. What `--help` imports, root compiles by asking for it;
    # beyond that a server imports every model SGLang has, anew at each start. All of the venv would
    # be 24000 files and two minutes of CPU.
    sources = f"{layout.site_packages(layout.venv_path(lock), lock.python)}/sglang"
    yield StringCommand(*_ALONE, f"{path}/bin/python", "-m", "compileall", "-q", "-j", "0", sources)
    yield marked(layout.completion_mark(layout.venv_path(lock)), f"{lock.tag} {lock.digest}")
