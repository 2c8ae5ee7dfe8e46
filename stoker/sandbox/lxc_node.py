"""One node: a copy-on-write view of the node image, run as an LXC system container."""

import socket
import time
from pathlib import Path

from stoker.refused import Refused
from stoker.sandbox import commands, keys, node_files, places, standins
from stoker.sandbox.files import write_atomically
from stoker.sandbox.state import Node, State


def lxc_name(state: State, node: Node) -> str:
    """What LXC on this machine calls the node."""
    return f"stk-{state.name}-{node.name}"


def lxc_path(state: State) -> Path:
    """The directory LXC on this machine is told to look in."""
    return state.directory / "nodes"


def data(state: State, node: Node) -> Path:
    """What the node keeps on this machine's own file system: guests and GPUs."""
    return state.directory / "data" / node.name


def shared(state: State, node: Node) -> Path:
    """What the node shares with its containers: the GPUs' state and the stand-in nvidia-smi."""
    return data(state, node) / "gpu"


_CLUSTER = "var/lib/pve-cluster/shared"


def cluster(state: State, node: Node) -> Path:
    """The directory of what the nodes share as /etc/pve, as this machine sees it.

    A node of an older checkout shares nothing and has it in its own root file system.
    """
    settings = lxc_path(state) / lxc_name(state, node) / "config"
    if settings.exists() and _CLUSTER not in settings.read_text():
        return root(state, node) / "etc/pve"
    return state.directory / "cluster"


def root(state: State, node: Node) -> Path:
    """The root file system of a node that runs."""
    words = ["lxc-info", "-P", lxc_path(state), "-n", lxc_name(state, node), "-p", "-H"]
    return Path("/proc", commands.run(words).strip(), "root")


def config(state: State, node: Node, image: Path) -> str:
    """The LXC configuration: privileged, cgroup2 alone, as Proxmox VE 8 and 9 have it.

    The v1 hierarchies of this machine, if it has any, stay outside: systemd in the node must not
    meet them. The second mounts of proc and sysfs, out of the way, let an unprivileged guest
    mount its own. An overlay cannot lie on an overlay, hence the bind mounts of `data`.
    """
    home = lxc_path(state) / lxc_name(state, node)
    kept = data(state, node)
    binds = {
        kept / "lxc": "var/lib/lxc",
        shared(state, node): "var/lib/stoker-gpu",
        state.directory / "cluster": _CLUSTER,
        places.WHEELS: "var/lib/stoker/wheels",
        places.TEMPLATES: "var/lib/vz/template/cache",
    }
    mounts = "".join(
        f"lxc.mount.entry = {source} {target} none bind,create=dir 0 0\n"
        for source, target in binds.items()
    )
    return f"""\
lxc.include = /usr/share/lxc/config/common.conf
lxc.uts.name = {node.name}
lxc.rootfs.path = overlay:{image}:{home}/upper
lxc.net.0.type = veth
lxc.net.0.link = {state.bridge}
lxc.net.0.flags = up
lxc.apparmor.profile = unconfined
lxc.seccomp.profile =
lxc.cap.drop =
lxc.cgroup.devices.allow = a
lxc.cgroup2.devices.allow = a
lxc.mount.auto =
lxc.mount.auto = proc:rw sys:rw
lxc.mount.entry = cgroup2 sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0
lxc.mount.entry = proc dev/.lxc/proc proc create=dir,optional 0 0
lxc.mount.entry = sys dev/.lxc/sys sysfs create=dir,optional 0 0
lxc.mount.entry = /dev/fuse dev/fuse none bind,create=file,optional 0 0
{mounts}lxc.tty.max = 0
lxc.pty.max = 4096
lxc.signal.halt = SIGRTMIN+3
"""


def running(state: State, node: Node) -> bool:
    """Whether the node's init is there."""
    words = ["lxc-info", "-P", lxc_path(state), "-n", lxc_name(state, node), "-s", "-H"]
    return commands.attempt(words).stdout.strip() == b"RUNNING"


def prepare(state: State, node: Node, image: Path) -> str:
    """Write the files of a node that does not run yet; give its public host key.

    A node that ran before stays on the image it began with.
    """
    home = lxc_path(state) / lxc_name(state, node)
    upper = home / "upper"
    (data(state, node) / "lxc").mkdir(parents=True, exist_ok=True)
    standins.place_shared(shared(state, node), f"{state.name}/{node.name}", state.gpus, image)
    places.WHEELS.mkdir(parents=True, exist_ok=True)
    host_key = upper / "etc/ssh/ssh_host_ed25519_key"
    public = keys.present(host_key, node.name, 0)
    for path, content in node_files.files(node, state.subnet, keys.public(state.ssh_key)).items():
        write_atomically(upper / path, content, 0o600 if path.startswith("root/") else 0o644)
    (upper / "root/.ssh").chmod(0o700)
    (upper / "root").chmod(0o700)
    standins.place_on_node(upper, node.name)
    if not (home / "config").exists():
        write_atomically(home / "config", config(state, node, image))
    return public


def host_key(state: State, node: Node) -> str:
    """The public key the node's sshd shows."""
    home = lxc_path(state) / lxc_name(state, node)
    return (home / "upper/etc/ssh/ssh_host_ed25519_key.pub").read_text()


def start(state: State, node: Node) -> None:
    """Boot it and wait until its sshd answers and its own systemd has finished starting."""
    log = state.directory / f"{node.name}.log"
    name = lxc_name(state, node)
    started = commands.attempt(["lxc-start", "-P", lxc_path(state), "-n", name, "-d", "-o", log])
    if started.returncode != 0:
        said = log.read_text(errors="replace").strip().splitlines()[-2:] if log.exists() else []
        raise Refused(
            f"cannot start node {node.name}: lxc-start says {' / '.join(said) or 'nothing'}; "
            f"see {log}"
        )
    _await_ssh(node, timeout_s=60)
    attach(state, node, ["systemctl", "is-system-running", "--wait"], check=False)


def _await_ssh(node: Node, timeout_s: float) -> None:
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        try:
            with socket.create_connection((node.address, node.ssh_port), timeout=1) as connection:
                if connection.recv(4) == b"SSH-":
                    return
        except OSError:
            time.sleep(0.05)
    raise Refused(
        f"cannot reach node {node.name}: nothing answers ssh at {node.address} after "
        f"{timeout_s:.0f} s; look at its journal or run `python -m stoker.sandbox reset`"
    )


def attach(
    state: State, node: Node, words: list[str], stdin: bytes = b"", *, check: bool = True
) -> str:
    """Run a command in the node as its root, in a clean environment; give its output."""
    before = ["lxc-attach", "-P", str(lxc_path(state)), "-n", lxc_name(state, node)]
    before += ["--clear-env", "-v", "HOME=/root", "-v", f"PATH={_PATH}", "--"]
    done = commands.attempt([*before, *words], stdin)
    if check:
        return commands.told(done, f"{' '.join(words[:4])} (on node {node.name})")
    return done.stdout.decode(errors="replace")


_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def observe(state: State, node: Node) -> None:
    """What the stand-in driver tells is in step with its state, now; at the next boot if it is off.

    A node that was made by an older checkout has no observer yet.
    """
    if running(state, node):
        words = f"cd {standins.SHARED} && exec python3 -B -m smi.gpu_observer --once"
        attach(state, node, ["sh", "-c", words])


def stop(state: State, node: Node) -> None:
    """End it and everything in it, without asking: there is nothing in it to be kept."""
    if running(state, node):
        words = ["lxc-stop", "-P", lxc_path(state), "-n", lxc_name(state, node), "-k"]
        commands.run(words, timeout_s=60)


def refresh(state: State, node: Node, image: Path) -> None:
    """The stand-ins of a node that runs are those of this checkout."""
    standins.place_on_node(root(state, node), node.name)
    standins.place_shared(shared(state, node), f"{state.name}/{node.name}", state.gpus, image)
    attach(state, node, ["systemctl", "daemon-reload"])
    attach(state, node, ["systemctl", "restart", standins.OBSERVER])
