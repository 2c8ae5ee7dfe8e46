"""What is installed in a venv and which driver and GPUs its container has."""

from dataclasses import dataclass

from stoker.serving.evidence.fingerprint import NONE


@dataclass(frozen=True)
class Gpu:
    """One GPU, by the number that CUDA gives it in the order of the bus."""

    index: int
    kind: str
    """As the driver names it: `NVIDIA RTX PRO 6000 Blackwell Server Edition`."""
    memory_mib: int | None = None
    """All of it; None: only nvidia-smi tells, and it did not."""
    sm: int | None = None
    """Compute capability, 120 for 12.0; None as above."""


@dataclass(frozen=True)
class Machine:
    """What a server of this venv runs on. Of a package None: it is not there."""

    sglang: str | None = None
    torch: str | None = None
    """With its build: `2.11.0+cu130`."""
    cuda: str | None = None
    """What torch was built for; None: for none, or there is no torch."""
    driver: str | None = None
    """Version of NVIDIA's kernel module; None: none is loaded."""
    gpus: tuple[Gpu, ...] = ()

    def kind_of(self, indices: tuple[int, ...]) -> str | None:
        """The kind of these GPUs, several kinds with `+` between; None: one of them is unknown.

        No index at all, or no driver: `none`.
        """
        if self.driver is None:
            return NONE
        kinds = {gpu.index: gpu.kind for gpu in self.gpus}
        if any(index not in kinds for index in indices):
            return None
        return " + ".join(sorted({kinds[index] for index in indices})) or NONE
