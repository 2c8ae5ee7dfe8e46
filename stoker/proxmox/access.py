"""How Proxmox is reached: the host data `proxmox`, without any secret in it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stoker.refused import Refused

_USER = re.compile(r"[^\s:/!=@]+@[A-Za-z][A-Za-z0-9.\-_]+")
_TOKEN = re.compile(_USER.pattern + r"![A-Za-z][A-Za-z0-9.\-_]+")
_HOST = re.compile(r"[A-Za-z0-9.:_-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Access(BaseModel):
    """Where the API is and as whom it is asked. No secret: only where one is to be found."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)

    backend: Literal["ssh", "token", "ticket"] = "ssh"
    """`ssh`: `pct` on the node; `token`, `ticket`: the API, by an API token or a password."""
    host: str = ""
    """Name or address of any node of the cluster, as its certificate has it."""
    port: int = Field(default=8006, ge=1, le=65535)
    token: str = ""
    """`user@realm!id`, without its secret."""
    user: str = "root@pam"
    """Of a ticket."""
    secret_env: str = ""
    secret_file: str = ""
    ca_file: str = ""
    """Who signed the certificate; empty: the authorities of this system."""
    timeout_s: float = Field(default=30, gt=0, le=600)
    """Seconds that one answer may take."""

    @classmethod
    def of(cls, data: object) -> "Access":
        """The host data `proxmox`. Raises Refused with every problem and no value."""
        if not isinstance(data, Mapping):
            raise Refused(f"{_CANNOT}: it is no dict; write keys and values")
        try:
            access = cls.model_validate(dict(data))
        except ValidationError as error:
            raise Refused("\n".join(map(_worded, error.errors(include_input=False)))) from None
        if problems := list(_problems(access)):
            raise Refused("\n".join(f"{_CANNOT}: {problem}" for problem in problems))
        return access

    @property
    def is_root(self) -> bool:
        """Whether Proxmox takes it for root@pam itself, which a token of root@pam is not."""
        return self.backend == "ssh" or (self.backend == "ticket" and self.user == "root@pam")

    @property
    def url(self) -> str:
        """`https://host:8006`, for sentences and requests."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"


_CANNOT = "cannot use the data proxmox"
_SECRETS = ("password", "secret", "token_secret", "token_value")


def _worded(error: Any) -> str:
    key = ".".join(map(str, error["loc"]))
    if key in _SECRETS:
        return (
            f"{_CANNOT}: {key} would be the secret itself; "
            "name an environment variable (secret_env) or a file (secret_file) instead"
        )
    if error["type"] == "extra_forbidden":
        known = ", ".join(Access.model_fields)
        return f"{_CANNOT}: it has no key {key}; its keys are {known}"
    said = error["msg"][:1].lower() + error["msg"][1:]
    return f"{_CANNOT}: {key} is wrong: {said}; correct it"


def _problems(access: Access) -> Iterator[str]:
    if access.backend == "ssh":
        for key in ("token", "secret_env", "secret_file"):
            if getattr(access, key):
                yield f"{key} is given, but the backend ssh needs none; set backend, or remove it"
        return
    if not _HOST.fullmatch(access.host):
        yield "host is missing or no name or address; give that of a node, without https:// or port"
    if access.backend == "token":
        if not _TOKEN.fullmatch(access.token):
            yield "token is not like user@realm!id; give its name only, never its secret"
    elif access.token:
        yield "token is given, but the backend ticket has a user; set backend, or remove it"
    elif not _USER.fullmatch(access.user):
        yield "user is not like root@pam; give name@realm"
    if bool(access.secret_env) == bool(access.secret_file):
        yield "it needs exactly one of secret_env and secret_file; say where the secret is"
    if access.secret_env and not _VARIABLE.fullmatch(access.secret_env):
        yield "secret_env is no name of an environment variable; give its name, not the secret"
    if access.secret_file and not access.secret_file.startswith(("/", "~/")):
        yield "secret_file is no absolute path; begin it with / or ~/"
