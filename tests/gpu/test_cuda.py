"""The proof that the `cuda` role asks of a container, on a real GPU."""

import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest


@pytest.fixture
def toolkit(tmp_path: Path) -> Path:
    """A CUDA tree laid out as the role leaves it, over the machine's own toolkit."""
    found = os.environ.get("CUDA_HOME") or str(Path(shutil.which("nvcc") or "").parents[1])
    home = tmp_path / "cuda"
    home.mkdir()
    for name in ("bin", "include", "nvvm"):
        (home / name).symlink_to(Path(found) / name)
    (home / "lib").symlink_to(Path(found) / "lib64")
    (home / "lib64").symlink_to("lib")
    return home


def test_a_kernel_is_compiled_for_this_gpu_and_runs(toolkit: Path, tmp_path: Path) -> None:
    folder = files("stoker.operations")
    mark = tmp_path / "proved"
    done = subprocess.run(
        ["sh", "-c", folder.joinpath("prove_cuda.sh").read_text(), "sh", toolkit, mark, "seen"],
        input=folder.joinpath("proof.cu").read_text(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert mark.read_text() == "seen\n"
    assert "not run" not in done.stderr
