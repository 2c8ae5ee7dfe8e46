"""What Proxmox keeps for root@pam, whoever else has which privileges.

Measured on a real node, and in pve-container's check_ct_modify_config_perm: a token of root@pam is
somebody else there (its name is root@pam!id), and gets 403.
"""

import re
from collections.abc import Iterable, Mapping

_ALWAYS = re.compile(r"dev\d+|hookscript")
_MOUNT = re.compile(r"mp\d+|rootfs")


def root_only(
    options: Mapping[str, str], *, creating: bool = False
) -> tuple[dict[str, str], dict[str, str]]:
    """Options that a token may set, and those that only root@pam may.

    `features` with anything but `nesting=1` are root's (before 5.2.4 `nesting=0` too), and all of
    them in a privileged container. In a change they are too: Proxmox compares them with those
    before, which are not looked at here.
    """
    plain = creating and options.get("unprivileged", "1") == "1"
    root = {key: value for key, value in options.items() if _is_roots(key, value, plain)}
    return {key: value for key, value in options.items() if key not in root}, root


def root_only_keys(keys: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Keys that a token may delete, and those that only root@pam may."""
    named = tuple(keys)
    root = tuple(key for key in named if _ALWAYS.fullmatch(key) or key == "features")
    return tuple(key for key in named if key not in root), root


def _is_roots(key: str, value: str, plain: bool) -> bool:
    if key == "features":
        return not plain or value != "nesting=1"
    if _MOUNT.fullmatch(key):
        return value.removeprefix("volume=").startswith("/")
    return bool(_ALWAYS.fullmatch(key))
