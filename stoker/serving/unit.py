"""A unit: one server, with all that its file says."""

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from stoker.serving import layout, quoting
from stoker.serving.staging import Stage

NCCL_OFFSET = 1000
"""torch.distributed's port under each server's own. SGLang otherwise picks a free port and binds
it later, so servers started together can pick the same one. Below, not above: ports from 32768 on
are handed out to clients. A single machine needs no --dist-init-addr (it would only change how
images travel), so this is the only other TCP port of a server without DP attention."""


@dataclass(frozen=True)
class Unit:
    """One server: everything that the template places, and what is asked of it when it runs."""

    name: str
    flagset: str
    description: str
    sglang: str
    model: str
    """The name it answers to."""
    host: str
    port: int
    gpus: tuple[int, ...]
    argv: tuple[str, ...]
    """Exactly what is executed; never holds a secret."""
    environment: tuple[tuple[str, str], ...]
    secrets: tuple[tuple[str, str], ...] = field(repr=False)
    """Goes into the environment file, mode 0600."""
    user: str
    venv: PurePosixPath
    stage: Stage | None = None

    @property
    def nccl_port(self) -> int:
        """torch.distributed's port, never anybody else's."""
        return self.port - NCCL_OFFSET

    @property
    def url(self) -> str:
        """Where it listens, as bound: 0.0.0.0 is every address of the machine."""
        return f"http://{self.host}:{self.port}"

    @property
    def local_url(self) -> str:
        """The same from inside the machine."""
        here = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else self.host
        return f"http://{here}:{self.port}"

    @property
    def python(self) -> str:
        """The venv's interpreter."""
        return str(self.venv / "bin" / "python")

    @property
    def cuda_home(self) -> str:
        """The CUDA tree it compiles kernels with."""
        return dict(self.environment)["CUDA_HOME"]

    @property
    def secret_names(self) -> str:
        """The names of its secrets, never their values."""
        return " ".join(name for name, _ in self.secrets)

    @property
    def description_line(self) -> str:
        """What systemd shows."""
        return quoting.text(self.description)

    @property
    def identifier(self) -> str:
        """Its lines' tag in the journal."""
        return self.name.removesuffix(".service")

    @property
    def exec_start(self) -> str:
        """The command, quoted."""
        return quoting.command(self.argv)

    @property
    def exec_start_pre(self) -> str:
        """What waits for its GPUs, quoted; empty: it has none."""
        words = (self.python, "-I", "-S", str(layout.GUARD))
        return quoting.command(words) if self.gpus else ""

    @property
    def diagnose(self) -> str:
        """What says why it died."""
        return str(layout.DIAGNOSE)

    @property
    def env_file(self) -> str:
        """Path of its environment file."""
        return str(layout.env_file(self.name))

    @property
    def environment_lines(self) -> str:
        """`Environment=` lines, quoted."""
        return "\n".join(quoting.environment(k, v) for k, v in self.environment)

    @property
    def cache(self) -> str:
        """Compiled kernels, and whatever SGLang writes at home."""
        return str(layout.kernel_cache(self.venv))

    @property
    def cache_directory(self) -> str:
        """The same under /var/cache, where systemd makes it for the user."""
        return self.cache.removeprefix("/var/cache/")

    @property
    def requires(self) -> str:
        """The staging unit; empty if there is none."""
        return self.stage.name if self.stage else ""

    @property
    def after(self) -> str:
        """What is started before."""
        return f"network-online.target {self.requires}".rstrip()
