"""The scripts that operations run, run here: what they leave behind when they pass and when not."""

import shutil
import stat
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from stoker.operations import fetched, system, uv
from stoker.operations import wheels as wheels_operation
from stoker.refused import Refused
from stoker.serving.tools import Tool
from tests.operations import locks


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def place(path: Path, digest: str) -> int:
    return subprocess.run(
        ["sh", "-c", uv._PLACE, "sh", digest, str(path)], check=False, capture_output=True
    ).returncode


def test_a_uv_with_another_hash_never_gets_its_name(tmp_path: Path) -> None:
    (tmp_path / "uv.new").write_bytes(b"cut sho")
    assert place(tmp_path / "uv", "a" * 64) != 0
    assert not (tmp_path / "uv").exists()


def test_a_uv_with_the_right_hash_can_be_run(tmp_path: Path) -> None:
    (tmp_path / "uv.new").write_bytes(b"")
    digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert place(tmp_path / "uv", digest) == 0
    assert stat.S_IMODE((tmp_path / "uv").stat().st_mode) == 0o755


def test_the_service_user_is_made_in_one_step_in_the_groups_that_there_are(tmp_path: Path) -> None:
    executable(tmp_path / "getent", '[ "$2" = video ] || [ "$2" = render ]')
    executable(tmp_path / "useradd", f'echo "$@" >> {tmp_path}/words')
    for groups in (["video", "kvm", "render"], ["kvm"]):
        words = ["sh", "-c", system._ADD_USER, "sh", "sglang", "/home", *groups]
        subprocess.run(words, env={"PATH": f"{tmp_path}:/bin"}, check=True)
    both, none = (tmp_path / "words").read_text().splitlines()
    assert both.endswith("--create-home --groups video,render sglang")
    assert none.endswith("--create-home sglang")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store, and a `python3` that stands for pip: it copies its requirements into the target."""
    (tmp_path / "store").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return tmp_path / "store"


def fetch(store: Path) -> subprocess.CompletedProcess[str]:
    command = wheels_operation.fetch("/pip.whl", "3.11", list(locks.made().wheels), {})
    words = command.get_raw_value().replace("/var/lib/stoker/wheels", str(store))
    text = command.connector_arguments["_stdin"]
    return subprocess.run(["sh", "-c", words], input=text, text=True, capture_output=True)


def test_fetched_wheels_come_to_their_names_readable_for_all(store: Path, tmp_path: Path) -> None:
    fetching = f'umask 077; cat > "{store}/.incoming/a.whl"'
    executable(tmp_path / "bin" / "python3", fetching)
    assert fetch(store).returncode == 0
    assert (store / "a.whl").read_text() == locks.made().requirements
    assert stat.S_IMODE((store / "a.whl").stat().st_mode) == 0o644
    assert not (store / ".incoming").exists()


def test_a_fetch_that_fails_leaves_no_wheel_under_its_name(store: Path, tmp_path: Path) -> None:
    fetching = f'touch "{store}/.incoming/half.whl"; echo "HASHES DO NOT MATCH" >&2; exit 1'
    executable(tmp_path / "bin" / "python3", fetching)
    done = fetch(store)
    assert (done.returncode, "HASHES DO NOT MATCH" in done.stderr) == (1, True)
    assert list(store.glob("*.whl")) == []
    # What is left of it, requirements included, is for root alone, and the next fetch sweeps it.
    assert stat.S_IMODE((store / ".incoming").stat().st_mode) == 0o700


def prove(tmp_path: Path, **tools: str) -> subprocess.CompletedProcess[str]:
    for name, text in {"nvcc": "exit 0", "g++": "exit 0", "nvidia-smi": "exit 9", **tools}.items():
        executable(tmp_path / "cu13" / "bin" / name, text)
    script = files("stoker.operations").joinpath("prove_cuda.sh").read_text()
    words = (str(tmp_path / "cu13"), str(tmp_path / "proved"), "CUDA 13.0 for no GPU")
    return subprocess.run(
        ["sh", "-c", script, "sh", *words], input="program", text=True, capture_output=True
    )


def test_a_proof_without_a_gpu_compiles_for_blackwell_and_is_remembered(tmp_path: Path) -> None:
    done = prove(tmp_path, nvcc=f'echo "$@" > {tmp_path}/words')
    assert done.returncode == 0, done.stderr
    assert "-gencode=arch=compute_120,code=sm_120" in (tmp_path / "words").read_text()
    assert (tmp_path / "proved").read_text() == "CUDA 13.0 for no GPU\n"


def test_a_proof_is_for_the_gpus_that_are_there(tmp_path: Path) -> None:
    tools = {"nvidia-smi": "echo 10.3; echo 10.3", "nvcc": f'echo "$@" >> {tmp_path}/words'}
    prove(tmp_path, **tools)
    assert (tmp_path / "words").read_text().count("sm_103") == 1


def test_a_compiler_that_fails_leaves_no_proof_and_one_sentence(tmp_path: Path) -> None:
    done = prove(tmp_path, nvcc='echo "ptxas fatal: Unsupported .version 9.5" >&2; exit 255')
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "ptxas fatal: Unsupported .version 9.5",
        f"cannot prove CUDA in {tmp_path}/cu13 for sm_120: nvcc does not compile; "
        "the messages above say more",
    ]
    assert not (tmp_path / "proved").exists()


def test_a_library_that_cannot_be_linked_is_told_from_one_that_cannot_be_compiled(
    tmp_path: Path,
) -> None:
    done = prove(tmp_path, **{"g++": 'echo "cannot find -lcudart" >&2; exit 1'})
    assert "cannot find -lcudart" in done.stderr
    assert "the kernel does not link" in done.stderr


def check(tmp_path: Path, python: str) -> subprocess.CompletedProcess[str]:
    from stoker.operations import sglang

    executable(tmp_path / "bin" / "python", python)
    words = ["sh", "-c", sglang._CHECK, "sh", str(tmp_path), str(tmp_path / "cu13"), "13.0"]
    return subprocess.run(words, text=True, capture_output=True)


def test_a_server_that_answers_help_is_remembered(tmp_path: Path) -> None:
    assert check(tmp_path, '[ "$1" = -c ] && echo 13.0; exit 0').returncode == 0
    assert (tmp_path / ".sglang").exists()


# What `kernels` 0.17.2 made of SGLang 0.5.12.
BROKEN = """[ "$1" = -c ] && { echo 13.0; exit 0; }
echo usage
echo "ValueError: Either a revision or a version must be specified." >&2
exit 1"""


def test_a_server_that_does_not_start_shows_its_last_lines(tmp_path: Path) -> None:
    done = check(tmp_path, BROKEN)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "ValueError: Either a revision or a version must be specified.",
        f"cannot use the SGLang in {tmp_path}: sglang.launch_server --help ends with 1; "
        "its last lines are above",
    ]
    assert not (tmp_path / ".sglang").exists()


def test_a_torch_of_another_cuda_is_refused(tmp_path: Path) -> None:
    done = check(tmp_path, "echo 12.8")
    assert "torch.version.cuda is 12.8, the lock's is 13.0" in done.stderr


def test_a_tool_is_fetched_once_and_its_member_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls = []

    def download(tool: Tool, folder: Path) -> Path:
        calls.append(tool.name)
        (folder / "x").mkdir()
        (folder / "x" / "uv").write_bytes(b"")
        shutil.make_archive(str(folder / "uv"), "zip", folder / "x")
        return folder / "uv.zip"

    monkeypatch.setattr(fetched, "_download", download)
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    tool = Tool("uv", "1", "uv-1-py3-none-any.whl", "a" * 64, "uv", 0, empty)
    assert fetched.placed(tool) == fetched.placed(tool) == tmp_path / "stoker" / "uv-1" / "uv"
    assert calls == ["uv"]
    with pytest.raises(Refused, match=r"uv has another hash than locks/tools\.yaml says"):
        fetched.placed(Tool("uv", "2", "uv-2-py3-none-any.whl", "a" * 64, "uv", 0, "b" * 64))


def installed(tmp_path: Path, configure: str, status: str) -> subprocess.CompletedProcess[str]:
    dpkg = f"echo dpkg $* >> {tmp_path}/calls; {configure}"
    executable(tmp_path / "bin" / "dpkg", dpkg)
    executable(tmp_path / "bin" / "dpkg-query", f"printf '{status}'")
    executable(tmp_path / "bin" / "apt-get", f'echo apt-get "$@" >> {tmp_path}/calls')
    return subprocess.run(
        ["sh", "-c", system._INSTALL, "sh", "gcc", "g++"],
        env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, text=True, capture_output=True,
    )  # fmt: skip


def test_a_package_whose_unpacking_was_killed_is_reinstalled_first(tmp_path: Path) -> None:
    done = installed(tmp_path, "exit 1", "ok libc6:amd64\\nreinstreq libstdc++-12-dev:amd64\\n")
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    mended, wanted = calls[-2:]
    assert mended.endswith("--reinstall install libstdc++-12-dev:amd64")
    assert wanted.endswith("install gcc g++")


def test_packages_are_installed_at_once_where_nothing_was_torn(tmp_path: Path) -> None:
    assert installed(tmp_path, "exit 0", "ok libc6:amd64\\n").returncode == 0
    assert "--reinstall" not in (tmp_path / "calls").read_text()
