"""What can go wrong between here and Proxmox, one class a cause.

All are OSError, which pyinfra reports as a failure of the host instead of ending the run. Each is
one sentence and says whether something may have changed.
"""


class ProxmoxError(OSError):
    """Proxmox did not do what it was asked."""


class Unreachable(ProxmoxError):
    """Nobody answers at that address, or not as who the certificate says (TLS)."""


class Unauthorized(ProxmoxError):
    """The token or password is wrong or has expired (401), or there is none to be read."""


class Forbidden(ProxmoxError):
    """A privilege is missing (403); the sentence names it."""


class Rejected(ProxmoxError):
    """A parameter is not what Proxmox takes (400), or names what is not there."""


class NoQuorum(ProxmoxError):
    """The cluster has no quorum, so nothing can be written."""


class NodeOffline(ProxmoxError):
    """The API answers, but the node it should ask does not (595, 596)."""


class Locked(ProxmoxError):
    """The container is locked (backup, migrate, snapshot ...), or its lock file is held."""


class Changed(ProxmoxError):
    """Somebody changed the configuration since it was read (digest)."""


class NoSuchContainer(ProxmoxError):
    """There is no container of this VMID."""


class AlreadyExists(ProxmoxError):
    """A guest of this VMID is there already, maybe on another node."""


class AlreadySo(ProxmoxError):
    """It runs already, or does not run: what was asked for is how it is."""


class TaskFailed(ProxmoxError):
    """The task began and ended with an error; its last lines are in the sentence."""


class TaskUnknown(ProxmoxError):
    """How the task ended is not known: it may still run."""
