"""Stand-in: the cluster file system /etc/pve as one node sees it, and the lock on a container."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sys
import time
from contextlib import contextmanager
from typing import Iterator, List

from . import cluster, conf
from .died import Died, no_config

LOCKS = "/run/lock/lxc"
LOCK_TIMEOUT_S = 10.0


def node_name() -> str:
    """This node's name, as in /etc/pve/nodes/<name>."""
    return cluster.node_name()


def require_cluster() -> None:
    """Die as Perl does where this is not root, or where /etc/pve is not mounted."""
    reason = ""
    if os.geteuid() != 0:
        reason, code = "Unknown error -1", 255
    elif not os.path.isdir(f"{cluster.ROOT}/nodes"):
        reason, code = os.strerror(errno.ECONNREFUSED), errno.ECONNREFUSED
    if reason:
        lines = [f"ipcc_send_rec[{n}] failed: {reason}" for n in (1, 2, 3)]
        raise Died("\n".join([*lines, f"Unable to load access control list: {reason}"]), code)


def path(vmid: int) -> str:
    """The configuration file of a container of this node."""
    return f"{cluster.ROOT}/nodes/{node_name()}/lxc/{vmid}.conf"


def exists(vmid: int) -> bool:
    """Whether this node has a container of that id."""
    return os.path.exists(path(vmid))


def load(vmid: int, node: str = "") -> conf.Config:
    """The container's configuration; its unreadable lines go to stderr, as on every real read.

    `node`: another node of the cluster.
    """
    node = node or node_name()
    try:
        with open(f"{cluster.ROOT}/nodes/{node}/lxc/{vmid}.conf", encoding="utf-8") as file:
            config = conf.parse(file.read(), vmid)
    except FileNotFoundError:
        raise no_config(vmid, node) from None
    for warning in config.warnings:
        print(warning, file=sys.stderr)
    return config


def save(vmid: int, config: conf.Config) -> None:
    """Write the configuration, whole or not at all."""
    put(path(vmid), conf.render(config), 0o640)


def put(target: str, text: str, mode: int) -> None:
    """Write a file of the cluster, whole or not at all; dies without quorum."""
    cluster.refuse_write(target)
    # What is a link here is one file of all nodes: the link stays.
    real = os.path.realpath(target)
    temporary = f"{real}.tmp.{os.getpid()}"
    os.makedirs(os.path.dirname(real), exist_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
    os.rename(temporary, real)


def remove(vmid: int) -> None:
    """Delete the configuration; fine where there is none."""
    if exists(vmid):
        cluster.refuse_write(path(vmid))
        os.unlink(path(vmid))


def vmids(node: str = "") -> List[int]:
    """The ids of this node's containers, or of another's, in order."""
    names = os.listdir(f"{cluster.ROOT}/nodes/{node or node_name()}/lxc")
    return sorted(int(name[:-5]) for name in names if re.fullmatch(r"\d+\.conf", name))


def node_of(vmid: int) -> str:
    """The cluster node that has this container, empty where none has."""
    for node in sorted(os.listdir(f"{cluster.ROOT}/nodes")):
        if os.path.exists(f"{cluster.ROOT}/nodes/{node}/lxc/{vmid}.conf"):
            return node
    return ""


@contextmanager
def locked(vmid: int) -> Iterator[None]:
    """Hold the container's configuration lock; after 10 s of waiting die with code 4."""
    os.makedirs(LOCKS, exist_ok=True)
    file_name = f"{LOCKS}/pve-config-{vmid}.lock"
    with open(file_name, "a") as file:
        _acquire(file.fileno(), file_name)
        yield


def _acquire(descriptor: int, file_name: str) -> None:
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    waited = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not waited:
                print("trying to acquire lock...", file=sys.stderr, flush=True)
            waited = True
            if time.monotonic() > deadline:
                raise Died(f"can't lock file '{file_name}' - got timeout", errno.EINTR) from None
            time.sleep(0.05)
        else:
            if waited:
                print(" OK", file=sys.stderr)
            return


def check_lock(config: conf.Config, skip: bool = False) -> None:
    """Die where the configuration carries a `lock:` (a backup, a snapshot ...)."""
    lock = config.now.keys.get("lock")
    if lock and not skip:
        raise Died(f"CT is locked ({lock})")
