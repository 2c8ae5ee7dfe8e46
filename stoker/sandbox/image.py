"""Root file systems, built once from the machine's own Debian archives and kept in the cache."""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stoker.refused import Refused
from stoker.sandbox import authorities, commands, places, progress, sources
from stoker.sandbox.files import remove_tree, write_atomically

SUITES = {"debian-12": "bookworm", "debian-13": "trixie"}

# A guest gets what a fresh minimal template has: an init, a message bus, a static network. No
# python3, no curl, no ca-certificates: what a role needs, it must bring.
_GUEST = ["systemd-sysv", "dbus", "ifupdown", "iproute2", "netbase", "procps"]
_NODE = [
    *["systemd-sysv", "dbus", "ifupdown", "iproute2", "netbase", "procps", "bridge-utils"],
    *["openssh-server", "lxc", "uidmap", "python3", "nftables", "rsync", "zstd", "less", "perl"],
    *["ca-certificates", "iputils-ping", "psmisc", "strace"],
]
# Units that cannot work in a container; on a node, Debian's own LXC services would start a second
# bridge and keep the boot waiting.
_MASKED = [
    *["lxc.service", "lxc-net.service", "lxc-monitord.service", "systemd-udevd.service"],
    *["systemd-modules-load.service"],
    *["getty@.service", "console-getty.service", "container-getty@.service"],
    *["sys-kernel-config.mount", "sys-kernel-debug.mount", "sys-kernel-tracing.mount"],
    *["dev-hugepages.mount", "dev-mqueue.mount", "proc-sys-fs-binfmt_misc.automount"],
    *["systemd-journald-audit.socket", "apt-daily.timer", "apt-daily-upgrade.timer"],
]


@dataclass(frozen=True)
class Recipe:
    """What an image is made of; any change gives another digest, hence another image."""

    suite: str
    packages: tuple[str, ...]
    sources: str
    files: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that name the image in the cache."""
        return hashlib.sha256(repr((self, _MASKED)).encode()).hexdigest()[:12]


def machine_codename() -> str:
    """This machine's Debian release, such as bookworm; `Refused` if it is another system."""
    lines = Path("/etc/os-release").read_text().splitlines()
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    if fields.get("ID") != "debian":
        raise Refused(
            f"cannot build Debian images: this machine runs {fields.get('ID', 'an unknown system')}"
            ", whose archives are not Debian's; use a Debian 12 or 13 machine"
        )
    return fields["VERSION_CODENAME"].strip('"')


def _recipe(suite: str, packages: list[str]) -> Recipe:
    codename = machine_codename()
    archives = sources.archives(Path("/etc/apt"), codename)
    text = sources.rendered(archives, codename, suite)
    return Recipe(suite, tuple(packages), text, tuple(sorted(authorities.files().items())))


def template(name: str) -> Path:
    """The guests' template of that distribution as a tarball, built if it is not in the cache."""
    recipe = _recipe(SUITES[name], _GUEST)
    kept = places.TEMPLATES / f"{name}-{recipe.digest}.tar.zst"
    with alone("template"):
        if not kept.exists():
            for old in places.TEMPLATES.glob(f"{name}-????????????.tar.zst"):
                old.unlink()
            with progress.shown(f"building the {name} template (once, about a minute)"):
                _build(recipe, kept, ["--variant=minbase"])
        _published(kept, places.TEMPLATES / f"{name}-standard.tar.zst")
    return kept


def node_root() -> Path:
    """The nodes' root file system as a directory that is only read, built if not in the cache."""
    recipe = _recipe(SUITES["debian-12"], _NODE)
    kept = places.CACHE / f"node-{recipe.digest}"
    with alone("node"):
        if not kept.exists():
            with progress.shown("building the node image (once, about two minutes)"):
                _build(recipe, kept, ["--variant=minbase", "--format=directory"])
            _pruned(kept)
    return kept


def _pruned(newest: Path) -> None:
    """Drop the node images before this one that no instance runs on."""
    used = "".join(path.read_text() for path in places.ROOT.glob("*/nodes/*/config"))
    for old in places.CACHE.glob("node-*"):
        if old != newest and str(old) not in used:
            remove_tree(old)


def _build(recipe: Recipe, kept: Path, options: list[str]) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    for left_over in kept.parent.glob("unfinished-*"):
        remove_tree(left_over)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix="unfinished-") as scratch:
        Path(scratch).chmod(0o755)
        listed = Path(scratch, "image.sources")
        write_atomically(listed, recipe.sources)
        added = Path(scratch, "added")
        for path, content in recipe.files:
            write_atomically(added / path, content)
        masked = [f'--customize-hook=chroot "$1" systemctl mask {" ".join(_MASKED)}']
        copied = [f"--customize-hook=sync-in {added} /"] if recipe.files else []
        words = ["mmdebstrap", "--mode=root", *options, f"--include={','.join(recipe.packages)}"]
        words += ['--aptopt=Acquire::Retries "5"', *_proxies(), *masked, *copied]
        made = Path(scratch, kept.name)
        commands.run([*words, recipe.suite, made, listed], timeout_s=1800)
        made.rename(kept)


def _proxies() -> list[str]:
    """The machine's own apt proxies, if it has any, for the build and for the image."""
    lines = commands.run(["apt-config", "dump"]).splitlines()
    found = [line for line in lines if line.startswith("Acquire::http") and "roxy" in line]
    return [f"--aptopt={line.rstrip(';')}" for line in found if '""' not in line]


def _published(kept: Path, name: Path) -> None:
    """Give the tarball the name a Proxmox user would look for; a hard link, as pct wants a file."""
    if not name.exists() or not name.samefile(kept):
        temporary = name.with_name(f".{name.name}.{os.getpid()}")
        temporary.hardlink_to(kept)
        temporary.replace(name)


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Hold the cache's lock for one kind of image, so that two builds never meet."""
    places.CACHE.mkdir(parents=True, exist_ok=True)
    with (places.CACHE / f".{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
