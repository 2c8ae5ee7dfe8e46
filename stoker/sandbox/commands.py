"""Running a command of this machine, in an environment of our own."""

import subprocess
from collections.abc import Sequence

from stoker.refused import Refused

_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
}


def attempt(
    words: Sequence[object], stdin: bytes = b"", timeout_s: float = 600
) -> subprocess.CompletedProcess[bytes]:
    """Run it and give what came of it, whatever its exit status."""
    return subprocess.run(
        [str(word) for word in words],
        input=stdin,
        capture_output=True,
        env=_ENVIRONMENT,
        cwd="/",
        timeout=timeout_s,
        check=False,
    )


def run(words: Sequence[object], stdin: bytes = b"", timeout_s: float = 600) -> str:
    """Run it and give its standard output; `Refused` with its last words when it fails."""
    return told(attempt(words, stdin, timeout_s), " ".join(str(word) for word in words[:6]))


def told(done: subprocess.CompletedProcess[bytes], command: str) -> str:
    """The output of a command that has succeeded; `Refused` with its last words if it failed."""
    if done.returncode != 0:
        said = _telling((done.stderr or done.stdout).decode(errors="replace"))
        raise Refused(
            f"cannot run `{command}`: exit status {done.returncode}, "
            f"{' / '.join(said) or 'no words'}; run it by hand to see more"
        )
    return done.stdout.decode(errors="replace")


def _telling(output: str) -> list[str]:
    """The first line that speaks of an error, as a compiler's says what is wrong, and the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return list(dict.fromkeys([*errors[:1], *lines[-3:]]))
