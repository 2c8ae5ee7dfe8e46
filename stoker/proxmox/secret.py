"""The secret of a token or a user, read when it is first needed and kept by whoever asked."""

import os
import stat
from pathlib import Path

from stoker.proxmox.access import Access
from stoker.proxmox.errors import Unauthorized


def secret(access: Access) -> str:
    """Of the environment variable or the file that `access` names.

    Raises Unauthorized, without anything of its content: there is none, others can read the file,
    or it has characters that no token has.
    """
    found = _from_file(access) if access.secret_file else _from_environment(access)
    found = found.rstrip("\r\n")
    if not found:
        raise _unusable(access, "the secret is empty; write it there")
    if not found.isprintable() or (access.backend == "token" and not _is_plain(found)):
        raise _unusable(
            access, "it has characters that no secret has; write the secret alone there"
        )
    return found


def _is_plain(text: str) -> bool:
    return text.isascii() and " " not in text


def _from_environment(access: Access) -> str:
    found = os.environ.get(access.secret_env)
    if found is None:
        raise _unusable(access, "the variable that secret_env names is not set; export it")
    return found


def _from_file(access: Access) -> str:
    path = Path(access.secret_file).expanduser()
    try:
        # A pipe would be waited for.
        with open(path, encoding="utf-8", opener=_at_once) as file:
            found = os.fstat(file.fileno()).st_mode
            mode = stat.S_IMODE(found)
            if not stat.S_ISREG(found):
                raise _unusable(access, f"{path} is no file; write the secret alone in one")
            if mode & 0o077:
                raise _unusable(access, f"others can read {path} (mode {mode:04o}); chmod 600 it")
            return file.read(4096)
    except UnicodeDecodeError:
        raise _unusable(access, f"{path} is no text; write the secret alone there") from None
    except Unauthorized:
        raise
    except OSError as error:
        raise _unusable(
            access, f"{path} cannot be read ({error.strerror}); write the secret there, mode 0600"
        ) from None


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _unusable(access: Access, why: str) -> Unauthorized:
    who = access.token if access.backend == "token" else access.user
    return Unauthorized(f"cannot log in to Proxmox at {access.url} as {who}: {why}")
