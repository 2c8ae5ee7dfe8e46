"""The ssh keys of an instance: one that opens root on the nodes, and the nodes' own."""

import os
from pathlib import Path

from stoker.sandbox import commands
from stoker.sandbox.files import write_atomically


def present(private: Path, comment: str, owner: int) -> str:
    """Make the ed25519 pair if it is not there and give the public key.

    `owner` is the user who may read the private one; with 0 it keeps the owner it has.
    """
    if not private.with_name(private.name + ".pub").exists():
        private.parent.mkdir(parents=True, exist_ok=True)
        private.unlink(missing_ok=True)
        commands.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", private])
    if owner:
        os.chown(private, owner, -1)
    return public(private)


def public(private: Path) -> str:
    """The public half of a pair that is there."""
    return private.with_name(private.name + ".pub").read_text()


def known_hosts(lines: dict[str, str]) -> str:
    """The text of a known_hosts file from addresses and public keys."""
    return "".join(f"{host} {' '.join(key.split()[:2])}\n" for host, key in lines.items())


def write_known_hosts(path: Path, lines: dict[str, str]) -> None:
    """Put it where the state says it is; everybody may read it."""
    write_atomically(path, known_hosts(lines))
