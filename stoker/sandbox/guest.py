"""The containers of a node, created with the node's own `pct`."""

from pathlib import Path

from stoker.sandbox import gpu, network, node
from stoker.sandbox.state import Container, Node, State

_TEMPLATE = "local:vztmpl/{}-standard.tar.zst"


def root(state: State, container: Container) -> Path:
    """The container's root file system, seen from this machine. Its root is user 100000 here."""
    home = next(n for n in state.nodes if n.name == container.node)
    return node.data(state, home) / "lxc" / str(container.vmid) / "rootfs"


def options(state: State, container: Container) -> list[str]:
    """The words after `pct create <vmid> <template>`."""
    gateway = network.gateway(state.subnet)
    words = ["--hostname", f"ct{container.vmid}", "--cores", "2", "--memory", "8192"]
    words += ["--rootfs", "local:16", "--features", "nesting=1", "--onboot", "1"]
    words += ["--net0", f"name=eth0,bridge=vmbr0,ip={container.address}/26,gw={gateway}"]
    words += ["--mp9", "/var/lib/stoker-gpu,mp=/var/lib/stoker-gpu,ro=1"]
    for number, path in enumerate(gpu.node_paths(state.gpus) if state.gpus else []):
        words += [f"--dev{number}", f"{path},mode=0666"]
    return words


_TEMPORARY = """\
set -e
id=$1 template=$2 address=$3 gateway=$4 gpus=$5
home=/var/lib/lxc/$id
mkdir -p $home/rootfs /etc/pve/lxc
chown 100000:100000 $home/rootfs
lxc-usernsexec -m u:0:100000:65536 -m g:0:100000:65536 -- \
    tar --zstd -xpf /var/lib/vz/template/cache/$template -C $home/rootfs --exclude './dev/*'
cat > $home/config <<END
lxc.include = /usr/share/lxc/config/common.conf
lxc.include = /usr/share/lxc/config/userns.conf
lxc.idmap = u 0 100000 65536
lxc.idmap = g 0 100000 65536
lxc.uts.name = ct$id
lxc.rootfs.path = dir:$home/rootfs
lxc.apparmor.profile = unconfined
lxc.mount.auto =
lxc.mount.auto = proc:mixed sys:mixed cgroup:rw:force
lxc.cgroup.relative = 0
lxc.cgroup.dir.monitor = lxc.monitor/$id
lxc.cgroup.dir.container = lxc/$id
lxc.cgroup.dir.container.inner = ns
lxc.tty.max = 2
lxc.signal.halt = SIGRTMIN+3
lxc.net.0.type = veth
lxc.net.0.link = vmbr0
lxc.net.0.flags = up
lxc.mount.entry = /var/lib/stoker-gpu var/lib/stoker-gpu none bind,ro,create=dir 0 0
END
for path in $gpus; do
    echo "lxc.mount.entry = $path ${path#/} none bind,create=file 0 0" >> $home/config
done
root=$home/rootfs
printf 'auto lo\niface lo inet loopback\n\nauto eth0\niface eth0 inet static\n    address %s/26\n    gateway %s\n' \
    $address $gateway > $root/etc/network/interfaces
echo ct$id > $root/etc/hostname
cp /etc/resolv.conf $root/etc/resolv.conf
printf '127.0.0.1 localhost\n127.0.1.1 ct%s\n' $id > $root/etc/hosts
"""


def created(state: State, home: Node, container: Container) -> None:
    """The container exists; it is not started here."""
    gateway = network.gateway(state.subnet)
    gpus = " ".join(gpu.node_paths(state.gpus)) if state.gpus else ""
    template = f"{state.template}-standard.tar.zst"
    words = ["sh", "-c", _TEMPORARY, "sh", str(container.vmid), template]
    node.attach(state, home, [*words, container.address, gateway, gpus])


def statuses(state: State, home: Node) -> dict[int, str]:
    """Status by VMID of every container the node knows."""
    lines = node.attach(state, home, ["lxc-ls", "-f", "-F", "NAME,STATE"]).splitlines()[1:]
    return {int(line.split()[0]): line.split()[1].lower() for line in lines if line.strip()}


def started(state: State, home: Node, container: Container) -> None:
    """The container runs; its own init may still be starting."""
    node.attach(state, home, ["lxc-start", "-n", str(container.vmid), "-d"])
