"""Small logs, put together as SGLang, systemd and the kernel print them."""

from __future__ import annotations

from stoker.health.crash.diagnosing import diagnose
from stoker.health.crash.verdict import Verdict


def journal(text: str, clock: str = "10:00:00", ident: str = "sglang[1182]") -> str:
    """Every line with journald's prefix."""
    return "".join(f"Jun  1 {clock} ct-a {ident}: {line}\n" for line in text.splitlines())


def systemd(text: str, clock: str = "10:00:00") -> str:
    """Lines of systemd's."""
    return journal(text, clock, "systemd[1]")


def program(text: str, clock: str = "10:00:00", rank: str = "") -> str:
    """Messages of SGLang's, each with its own prefix."""
    who = f" {rank}" if rank else ""
    return "".join(f"[2026-06-01 {clock}{who}] {line}\n" for line in text.splitlines())


def failed(error: str, clock: str = "10:00:00", rank: str = "TP0", frame: str = "a.py:f") -> str:
    """A scheduler that dies of that error."""
    file, _, function = frame.partition(":")
    return (
        f"[2026-06-01 {clock} {rank}] Scheduler hit an exception: {TRACEBACK}\n"
        f'  File "/opt/v/lib/python3.12/site-packages/sglang/srt/{file}", line 9, in {function}\n'
        f"    raise it\n{error}\n\n"
    )


def verdict(*parts: str, version: str = "") -> Verdict:
    """What they come to together."""
    return diagnose(["".join(parts).encode()], version)


TRACEBACK = "Traceback (most recent call last):"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
NINJA = "FileNotFoundError: [Errno 2] No such file or directory: 'ninja'"
UNKNOWN = "TypeError: 'NoneType' object is not subscriptable"
CLOSED = "RuntimeError: [/x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [::1]:41822"
SIGQUIT = "Received sigquit from a child process. It usually means the child failed."
STARTED = "Started sglang-a.service - SGLang server (a)."
KILLED = "sglang-a.service: Main process exited, code=killed, status=9/KILL"
RESTART = "sglang-a.service: Scheduled restart job, restart counter is at {}."
LOAD = "Init torch distributed begin.\nLoad weight begin. avail mem=93.41 GB"
LOADED = f"{LOAD}\nLoad weight end. elapsed=3 s, avail mem=81 GB\nMemory pool end. avail mem=11 GB"
READY = f"{LOADED}\nmax_total_num_tokens=2048\nThe server is fired up and ready to roll!"
DECODE = "Decode batch, #running-req: 12, #token: 90112, token usage: 0.15, #queue-req: 0\n" * 5
PREFILL = "Prefill batch, #new-seq: 1, #new-token: 28, #cached-token: 0, token usage: 0.01\n" * 5
