"""What is installed and which GPUs are there, by the real command on real files."""

from pathlib import Path

import pytest

from stoker.facts.versions import Versions
from stoker.serving.evidence.machine import Gpu, Machine
from tests.facts.asked import asked

# torch 2.11.0 of the index, and a build without CUDA.
TORCH_CU130 = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.11.0+cu130'
debug = False
cuda: Optional[str] = '13.0'
git_version = '70d99e998b4955e0049d13a98d77ae1b14db1f45'
hip: Optional[str] = None
"""
TORCH_CPU = TORCH_CU130.replace("+cu130", "+cpu").replace("'13.0'", "None")
KIND = "NVIDIA RTX PRO 6000 Blackwell Server Edition"


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    packages = tmp_path / "lib/python3.11/site-packages"
    for name in ("sglang-0.5.12", "sglang_router-0.3.2", "torch-2.11.0", "torchao-0.9.0"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
    (packages / "torch").mkdir()
    (packages / "torch/version.py").write_text(TORCH_CU130)
    return tmp_path


def test_packages_are_read_without_being_imported(venv: Path) -> None:
    found = asked(Versions(), venv=str(venv))
    assert (found.sglang, found.torch, found.cuda) == ("0.5.12", "2.11.0+cu130", "13.0")


def test_a_torch_without_cuda_is_for_none(venv: Path) -> None:
    (venv / "lib/python3.11/site-packages/torch/version.py").write_text(TORCH_CPU)
    found = asked(Versions(), venv=str(venv))
    assert (found.torch, found.cuda) == ("2.11.0+cpu", None)


def test_where_there_is_no_venv_nothing_is_installed(tmp_path: Path) -> None:
    found = asked(Versions(), venv=str(tmp_path / "none"))
    assert (found.sglang, found.torch, found.cuda) == (None, None, None)


@pytest.mark.skipif(Path("/proc/driver/nvidia").exists(), reason="this machine has a driver")
def test_a_machine_without_a_driver_has_none_and_no_gpu(venv: Path) -> None:
    found = asked(Versions(), venv=str(venv))
    assert (found.driver, found.gpus) == (None, ())


def test_gpus_are_as_nvidia_smi_tells_them() -> None:
    output = [
        "sglang 0.5.12",
        "driver 580.126.09",
        f"model {KIND}",
        f"smi 0, {KIND}, 97887, 12.0, 580.126.09",
        f"smi 1, {KIND}, 97887, 12.0, 580.126.09",
    ]
    assert Versions().process(output) == Machine(
        sglang="0.5.12",
        driver="580.126.09",
        gpus=(Gpu(0, KIND, 97887, 120), Gpu(1, KIND, 97887, 120)),
    )


def test_what_nvidia_smi_does_not_tell_the_drivers_files_do_as_far_as_they_know() -> None:
    output = ["driver 580.126.09", f"model {KIND}", f"model {KIND}"]
    for smi in ([], ['smi Field "compute_cap" is not a valid field to query.'], ["smi No devices"]):
        found = Versions().process([*output, *smi])
        assert found == Machine(driver="580.126.09", gpus=(Gpu(0, KIND), Gpu(1, KIND)))


def test_a_figure_that_is_not_available_is_unknown() -> None:
    found = Versions().process(["driver 1.2", "smi 0, NVIDIA GB10, [N/A], 12.1, 580.95.05"])
    assert found is not None
    assert found.gpus == (Gpu(0, "NVIDIA GB10", None, 121),)


def test_nobody_could_look() -> None:
    assert Versions().default() is None
