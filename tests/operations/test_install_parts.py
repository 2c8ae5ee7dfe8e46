"""Packages, uv, the CUDA tree and the proofs: only the difference, word by word."""

import hashlib
from pathlib import Path

import pytest

from stoker.facts.cuda_homes import CudaHome, CudaHomes, CudaState
from stoker.facts.interpreter import Distribution
from stoker.facts.system import System, SystemState
from stoker.facts.uv import Uv
from stoker.facts.venvs import Venv, Venvs, VenvsState
from stoker.operations import cuda, sglang, system, uv
from stoker.refused import Refused
from stoker.serving import layout
from tests.operations import locks
from tests.operations.given import Given, Shown, commands, run

BOOKWORM = Distribution("debian", "12")
LOCK = locks.made()
VENV = str(layout.venv_path(LOCK))
HOME = f"{VENV}/lib/python3.11/site-packages/nvidia/cu13"
TABLE = {("debian", "12"): ["gcc", "python3.11"], ("ubuntu", "24.04"): ["gcc", "python3.12"]}


def packages(state: SystemState) -> list[Shown]:
    given = Given({System: state})
    return run(system.packages, given, by_distribution=TABLE, account="sglang")


def test_only_packages_that_are_lacking_are_installed() -> None:
    (install,) = packages(SystemState(BOOKWORM, frozenset({"gcc"})))
    assert isinstance(install, str)
    assert install.endswith('install install "$@"\n\' sh python3.11')
    assert "DPkg::Lock::Timeout=300" in install
    assert packages(SystemState(BOOKWORM, frozenset({"gcc", "python3.11"}))) == []


def test_another_distribution_has_other_names_and_an_unknown_one_is_refused() -> None:
    (install,) = packages(SystemState(Distribution("ubuntu", "24.04")))
    assert isinstance(install, str)
    assert install.endswith(" sh gcc python3.12")
    assert packages(SystemState(Distribution("alpine", "3.20"))) == [
        (
            "refused",
            "cannot install packages: gpu-a runs alpine 3.20, Stoker knows debian 12, "
            "ubuntu 24.04; "
            "make the container from one of these",
        )
    ]


def test_the_service_user_is_made_once() -> None:
    words = {"account": "sglang", "home": "/var/lib/sglang", "groups": ["video", "render"]}
    (add,) = run(system.user, Given({System: SystemState(BOOKWORM)}), **words)
    assert isinstance(add, str)
    assert add.endswith("' sh sglang /var/lib/sglang video render")
    made = SystemState(BOOKWORM, home="/var/lib/sglang")
    assert run(system.user, Given({System: made}), **words) == []


def test_uv_is_uploaded_checked_and_only_then_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv, "placed", lambda tool: Path("/cache/uv"))
    done = run(uv.present, Given({Uv: None}), tool=locks.UV)
    path = "/opt/stoker/uv/0.13.9/uv"
    assert done[:2] == [
        "install -d -m 0755 /opt/stoker/uv/0.13.9",
        ("put", "/cache/uv", f"{path}.new"),
    ]
    assert str(done[2]).endswith(f"' sh {'d' * 64} {path}")
    assert str(done[2]).index("sha256sum --check") < str(done[2]).index("mv -f")


def test_uv_of_the_right_size_stays_and_a_cut_one_is_replaced() -> None:
    assert run(uv.present, Given({Uv: 38409000}), tool=locks.UV) == []


def test_a_uv_that_cannot_be_fetched_fails_its_host_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(tool: object) -> Path:
        raise Refused("cannot fetch uv 0.13.9: no index")

    monkeypatch.setattr(uv, "placed", nowhere)
    done = run(uv.present, Given({Uv: 17}), tool=locks.UV)
    assert done[1:] == [("refused", "cannot fetch uv 0.13.9: no index")]


PROFILE = f"export CUDA_HOME={HOME}\nexport PATH={HOME}/bin:$PATH\n"
WHOLE = CudaState(
    BOOKWORM, {HOME: CudaHome()}, profile_sha256=hashlib.sha256(PROFILE.encode()).hexdigest()
)


def test_the_cuda_tree_gets_what_the_wheels_leave_out() -> None:
    home = CudaHome({"lib64", "stub"}, {"libcudart.so": "libcudart.so.13"})
    state = CudaState(BOOKWORM, {HOME: home})
    lib64, links, stub, _, empty, profile, named = run(
        cuda.linked, Given({CudaHomes: state}), releases=[locks.release()]
    )
    assert lib64 == f"ln -sfn lib {HOME}/lib64"
    assert str(links).endswith(f"' sh {HOME}/lib libcudart.so libcudart.so.13")
    assert "-Wl,-soname,libcuda.so.1" in str(stub)
    new = "/etc/profile.d/stoker-cuda.sh.stoker-new"
    assert empty == f"install -m 0644 -- /dev/null {new}"
    assert profile == ("put", PROFILE, new)
    assert named == f"mv -fT -- {new} /etc/profile.d/stoker-cuda.sh"


def test_a_whole_cuda_tree_is_left_alone() -> None:
    assert run(cuda.linked, Given({CudaHomes: WHOLE}), releases=[locks.release()]) == []


def test_cuda_is_proved_by_a_compile_for_these_gpus() -> None:
    state = CudaState(BOOKWORM, {HOME: CudaHome()}, gpus=("NVIDIA RTX PRO 6000",) * 8)
    (proof,) = commands(cuda.proved, Given({CudaHomes: state}), releases=[locks.release()])
    words = proof.get_raw_value()
    assert words.endswith(f"' sh {HOME} {HOME}/.proved 'CUDA 13.0 for NVIDIA RTX PRO 6000'")
    assert '-L"$home/lib64" -L"$home/lib64/stubs" -lcudart -lcuda' in words
    assert "__global__" in proof.connector_arguments["_stdin"]


def test_a_proof_holds_until_the_gpus_change() -> None:
    proved = {HOME: CudaHome(proved="CUDA 13.0 for no GPU")}
    same, other = CudaState(BOOKWORM, proved), CudaState(BOOKWORM, proved, gpus=("H200",))
    assert run(cuda.proved, Given({CudaHomes: same}), releases=[locks.release()]) == []
    assert len(run(cuda.proved, Given({CudaHomes: other}), releases=[locks.release()])) == 1


def test_the_server_is_tried_once_a_venv() -> None:
    name = layout.venv_path(LOCK).name
    fresh = VenvsState(BOOKWORM, (Venv(name, 1, frozenset({".complete"})),))
    tried = VenvsState(BOOKWORM, (Venv(name, 1, frozenset({".complete", ".sglang"})),))
    (check,) = run(sglang.installed, Given({Venvs: fresh}), releases=[locks.release()])
    assert "-m sglang.launch_server --help" in str(check)
    assert str(check).endswith(f"' sh {VENV} {HOME} 13.0")
    assert run(sglang.installed, Given({Venvs: tried}), releases=[locks.release()]) == []
