"""Stand-in: the one-time part of a new guest: root's password and keys, the machine id, the os."""

from __future__ import annotations

import glob
import os
import re
import subprocess

OS_TYPES = ("debian", "ubuntu", "devuan", "alpine", "fedora", "centos", "archlinux")


def os_type(root: str) -> str:
    """Proxmox's word for the guest's system; `unmanaged` for one it would not set up."""
    for name in ("usr/lib/os-release", "etc/os-release"):
        path = os.path.join(root, name)
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, errors="replace") as file:
                match = re.search(r'^ID="?(\w+)', file.read(), re.MULTILINE)
            return match.group(1) if match and match.group(1) in OS_TYPES else "unmanaged"
    return "unmanaged"


def systemd_version(root: str) -> int:
    """The version of systemd in a root file system, 0 where there is none."""
    libraries = glob.glob(os.path.join(root, "usr/lib/**/libsystemd-shared-*.so"), recursive=True)
    found = [re.search(r"shared-(\d+)", os.path.basename(name)) for name in libraries]
    return max([int(match.group(1)) for match in found if match], default=0)


def forget_machine_id() -> None:
    """Empty /etc/machine-id, so that the first start makes a new one."""
    if os.path.isfile("/etc/machine-id"):
        open("/etc/machine-id", "w").close()


def hashed(password: str) -> str:
    """The line of /etc/shadow's second field for a password, by the node's perl; empty for none."""
    if not password:
        return ""
    salt = "$6$" + os.urandom(8).hex()
    words = ["perl", "-e", "local $/; print crypt(<STDIN>, $ARGV[0])", salt]
    done = subprocess.run(words, input=password, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def set_up_root(password_hash: str, public_keys: str) -> None:
    """Give root of the root this process has a password and keys, where there are any."""
    if password_hash:
        with open("/etc/shadow") as file:
            lines = file.read()
        entry = f"root:{password_hash}:"
        lines = re.sub(r"^root:[^:]*:", lambda _m: entry, lines, flags=re.MULTILINE)
        with open("/etc/shadow", "w") as file:
            file.write(lines)
    if public_keys:
        os.makedirs("/root/.ssh", mode=0o700, exist_ok=True)
        with open("/root/.ssh/authorized_keys", "a") as file:
            file.write(public_keys)
        os.chmod("/root/.ssh/authorized_keys", 0o600)
