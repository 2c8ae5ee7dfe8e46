"""The CUDA tree inside a venv: made whole, and proved by compiling."""

import hashlib
from collections.abc import Generator
from importlib.resources import files
from pathlib import PurePosixPath

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.facts.cuda_homes import PROFILE, CudaHome, CudaHomes
from stoker.operations.atomic import written
from stoker.operations.refusal import refused
from stoker.operations.venv import wanted
from stoker.refused import Refused
from stoker.serving import layout
from stoker.serving.lock import Lock, Release
from stoker.serving.rendering import File

_LINK = """
set -eu
cd "$1"
shift
while [ $# -gt 0 ]; do
    ln -sfn -- "$2" "$1"
    shift 2
done
"""
# It has no symbols: who links against it binds to the driver's library of that name at run time.
_STUB = """
set -eu
install -d -m 0755 "$1/stubs"
gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -x c /dev/null -o "$1/stubs/.libcuda.so.new"
chmod 0755 "$1/stubs/.libcuda.so.new"
mv -f "$1/stubs/.libcuda.so.new" "$1/stubs/libcuda.so"
"""


@operation()
def linked(releases: list[Release]) -> Generator[PyinfraCommand, None, None]:
    """The CUDA tree of each release's venv has what compilers and linkers expect of a toolkit.

    The wheels leave out `lib64`, the unversioned names of the libraries, and a stub of the
    driver's. Login shells get the CUDA_HOME of the first release.
    """
    found = host.get_fact(CudaHomes)
    try:
        locks = wanted(releases, found.distribution)
    except Refused as error:
        yield refused(error)
        return
    for home in map(_home, locks):
        yield from _made_whole(home, found.homes.get(home, CudaHome({"lib64", "stub"})))
    profile = _profile(locks)
    if found.profile_sha256 != hashlib.sha256(profile.encode()).hexdigest():
        yield from written(File(PurePosixPath(PROFILE), profile))


@operation()
def proved(releases: list[Release]) -> Generator[PyinfraCommand, None, None]:
    """The CUDA tree of each release's venv has compiled a kernel for this host's GPUs.

    Proved again when the venv or the GPUs' models change.
    """
    found = host.get_fact(CudaHomes)
    try:
        locks = wanted(releases, found.distribution)
    except Refused as error:
        yield refused(error)
        return
    script = files("stoker.operations").joinpath("prove_cuda.sh").read_text()
    program = files("stoker.operations").joinpath("proof.cu").read_text()
    for lock in locks:
        home = _home(lock)
        evidence = f"CUDA {lock.cuda} for {', '.join(sorted(set(found.gpus))) or 'no GPU'}"
        # A server that had all the memory: compiled and not run is what could be had then.
        if (found.homes.get(home, CudaHome()).proved or "").startswith(evidence):
            continue
        words = (home, f"{home}/.proved", evidence)
        yield StringCommand(
            *("sh", "-c", QuoteString(script), "sh", *(QuoteString(word) for word in words)),
            _stdin=program,
        )


def _home(lock: Lock) -> str:
    return str(layout.cuda_home(layout.venv_path(lock), lock.python))


def _made_whole(home: str, found: CudaHome) -> Generator[PyinfraCommand, None, None]:
    if "lib64" in found.lacks:
        yield StringCommand("ln", "-sfn", "lib", QuoteString(f"{home}/lib64"))
    if found.unlinked:
        words = [QuoteString(word) for pair in found.unlinked.items() for word in pair]
        yield StringCommand(
            "sh", "-c", QuoteString(_LINK), "sh", QuoteString(f"{home}/lib"), *words
        )
    if "stub" in found.lacks:
        yield StringCommand("sh", "-c", QuoteString(_STUB), "sh", QuoteString(f"{home}/lib"))


def _profile(locks: list[Lock]) -> str:
    return "".join(
        f"export CUDA_HOME={_home(lock)}\nexport PATH={_home(lock)}/bin:$PATH\n"
        for lock in locks[:1]
    )
