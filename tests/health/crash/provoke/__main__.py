"""`python -m tests.health.crash.provoke VERSION [NAME ...]`: record these failures, or all."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from tests.health.crash.provoke import kernel, memory, outfit, rows, scenarios, server, world

_RECORDED = Path(__file__).parents[1] / "recorded"


def inside(name: str, work: Path) -> None:
    """In namespaces of its own: build the world, start, act, write what was seen."""
    row = scenarios.ALL[name]
    raw, report = work / f"out/{name}.raw", work / f"out/{name}.json"
    raw.write_bytes(b"")
    # Opened before the mounts: they hide this machine's /tmp.
    raw_file, report_file = raw.open("r+b"), report.open("w")
    world.built(work / "venv", work / "driver")
    row.prepare()
    words = row.words or server.command(row.model, row.flags)
    began = time.monotonic()
    log = Path(f"/proc/self/fd/{raw_file.fileno()}")
    process = server.Server(words, world.environment(row.env), log, row.user)
    acted = str(row.act(process))
    status = process.over(row.seconds)
    seen = {"name": name, "acted": acted, "status": status}
    json.dump(seen | {"seconds": round(time.monotonic() - began, 1)}, report_file)
    report_file.close()
    if status is None:
        process.process.kill()


def outside(name: str, options: argparse.Namespace) -> None:
    """One scenario, and what is kept of it."""
    work = options.work / options.version
    words = ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork"]
    words += ["--kill-child", "--mount-proc", sys.executable, "-m", __package__, "--inside"]
    before = kernel.said()
    subprocess.run([*words, "--work", options.work, options.version, name], check=True, timeout=600)
    if memory.GROUP.exists():
        memory.GROUP.rmdir()
    new = [line for line in kernel.said() if line not in before]
    if new:
        (work / f"out/{name}.dmesg").write_text("\n".join(new) + "\n")
    seen = json.loads((work / f"out/{name}.json").read_text())
    print(options.version, name, seen["status"], seen["seconds"], flush=True)
    rows.put(name, work / "out", _RECORDED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--work", type=Path, default=Path("/var/tmp/stoker-record"))
    parser.add_argument("--inside", action="store_true", help="used by itself")
    options = parser.parse_args()
    work = options.work / options.version
    if options.inside:
        inside(options.names[0], work)
        return
    outfit.ready(options.version, work)
    (work / "out").mkdir(exist_ok=True)
    for name in options.names or scenarios.ALL:
        if options.version in scenarios.ALL[name].versions:
            outside(name, options)


main()
