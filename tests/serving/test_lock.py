"""Locks are read strictly, and the shipped ones hold what an installation needs."""

from pathlib import Path

import pytest

from stoker.refused import Refused
from stoker.serving import lock
from stoker.serving.lock import Release, Wheel

LOCKS = Path(__file__).parents[2] / "locks"
VERSIONS = ["0.5.12", "0.5.23"]
HASH = "a" * 64
LINES = (
    f"cuda-toolkit==13.0.2 --hash=sha256:{HASH}  # cuda_toolkit-13.0.2-py2.py3-none-any.whl 2364\n"
    f"sglang==0.5.12 --hash=sha256:{HASH}  # sglang-0.5.12-cp311-cp311-linux_x86_64.whl 7\n"
    f"torch==2.11.0 --hash=sha256:{HASH}  # torch-2.11.0-cp311-cp311-linux_x86_64.whl 530\n"
)


def shipped() -> list[Release]:
    return [lock.load(LOCKS, version) for version in VERSIONS]


def test_a_lock_tells_its_versions_and_its_size() -> None:
    read = lock.parse(LINES, "cp311")
    assert (read.sglang, read.torch, read.cuda, read.python) == ("0.5.12", "2.11.0", "13.0", "3.11")
    assert read.size_bytes == 2901


def test_a_requirement_carries_its_hash_and_no_address() -> None:
    assert lock.parse(LINES, "cp311").requirements.splitlines()[2] == (
        f"torch==2.11.0 --hash=sha256:{HASH}"
    )


def test_a_wheel_knows_the_platforms_of_its_name() -> None:
    name = "aiohttp-3.13.5-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    wheel = Wheel("aiohttp", "3.13.5", HASH, name, 1)
    assert wheel.platforms == {"manylinux2014_x86_64", "manylinux_2_17_x86_64"}
    assert Wheel("six", "1", HASH, "six-1-py2.py3-none-any.whl", 1).platforms == frozenset()


def test_another_interpreter_or_another_byte_is_another_digest() -> None:
    one = lock.parse(LINES, "cp311").digest
    assert one != lock.parse(LINES, "cp313").digest
    assert one != lock.parse(LINES.replace("530", "531"), "cp311").digest
    assert one == lock.parse(LINES, "cp311").digest


def test_every_wrong_line_is_named_at_once() -> None:
    with pytest.raises(Refused) as refused:
        lock.parse(LINES + "requests==2\n" + "six\n", "cp311", "locks/x/cp311.txt")
    assert [line.split(" is not")[0] for line in str(refused.value).splitlines()] == [
        "cannot read locks/x/cp311.txt: line 4",
        "cannot read locks/x/cp311.txt: line 5",
    ]


def test_an_empty_lock_and_one_without_torch_are_refused() -> None:
    with pytest.raises(Refused, match="it is empty"):
        lock.parse("", "cp311")
    with pytest.raises(Refused, match="it has no torch"):
        lock.parse("".join(LINES.splitlines(keepends=True)[:2]), "cp311")


def test_a_version_without_locks_names_those_there_are() -> None:
    with pytest.raises(Refused, match=r"holds no lock; there are locks for 0\.5\.12, 0\.5\.23"):
        lock.load(LOCKS, "0.5.13")


def test_an_interpreter_without_a_lock_names_those_there_are() -> None:
    with pytest.raises(Refused, match=r"for Python 3\.9: there are locks for 3\.11, 3\.12, 3\.13"):
        lock.load(LOCKS, "0.5.12").lock_for("3.9")


@pytest.mark.parametrize("release", shipped(), ids=VERSIONS)
def test_a_shipped_release_locks_its_sglang_for_three_interpreters(release: Release) -> None:
    assert [one.python for one in release.locks] == ["3.11", "3.12", "3.13"]
    assert {one.sglang for one in release.locks} == {release.sglang}


@pytest.mark.parametrize("release", shipped(), ids=VERSIONS)
def test_a_shipped_lock_has_the_whole_compiler_of_torchs_cuda(release: Release) -> None:
    for one in release.locks:
        for name in ("nvcc", "crt", "cccl", "nvrtc", "runtime"):
            assert one.version(f"nvidia-cuda-{name}").startswith(f"{one.cuda}."), name
        assert one.version("nvidia-nvvm").startswith(f"{one.cuda}.")
        assert one.version("nvidia-cublas").startswith("13.")


def test_the_lock_of_0_5_12_keeps_what_its_time_had() -> None:
    for one in lock.load(LOCKS, "0.5.12").locks:
        assert one.version("kernels") == "0.14.1"
        assert one.version("fastapi") == "0.136.1"


@pytest.mark.parametrize("release", shipped(), ids=VERSIONS)
def test_a_shipped_lock_names_each_file_once(release: Release) -> None:
    for one in release.locks:
        assert len({wheel.file for wheel in one.wheels}) == len(one.wheels)
