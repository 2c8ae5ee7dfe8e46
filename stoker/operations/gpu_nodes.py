"""The unit that makes a node's GPU device nodes at each boot, before its guests start."""

from collections.abc import Generator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from pyinfra import host
from pyinfra.api import FunctionCommand, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.container.devices import BOOT_UNIT
from stoker.facts.files import FileState, FileStates
from stoker.facts.gpu_nodes import SCRIPT, GpuNodesLacking
from stoker.facts.timers import Timer
from stoker.operations.atomic import written
from stoker.operations.once import warned
from stoker.serving import layout
from stoker.serving.rendering import File, rendered

PATHS = (str(layout.GPU_NODES), str(layout.unit_file(BOOT_UNIT)))
_START_S = 200
"""Above the unit's own limit."""


def files() -> tuple[File, ...]:
    """The script and its unit, which comes last: what it names is there before it."""
    return (
        File(layout.GPU_NODES, SCRIPT, 0o755),
        File(PurePosixPath(PATHS[1]), rendered(f"{BOOT_UNIT}.j2", script=str(layout.GPU_NODES))),
    )


@operation()
def present() -> Generator[PyinfraCommand, None, None]:
    """The unit is there and starts at boot; at once where a device node is missing now."""
    there = host.get_fact(FileStates, paths=PATHS)
    # Of any unit, a timer or not; whether it is active does not matter here.
    unit = host.get_fact(Timer, unit=BOOT_UNIT)
    lacking = host.get_fact(GpuNodesLacking)
    if lacking is None:
        host.noop("the node has no GPU for containers")
        return
    changed = [
        file
        for file in files()
        if there.get(str(file.path)) != FileState(file.sha256, file.mode, "root:root")
    ]
    if not changed and unit.enabled and not unit.needs_reload and not lacking:
        host.noop("the GPUs' device nodes are there, and will be after a boot")
        return
    for file in changed:
        yield from written(file)
    if changed or unit.needs_reload or not unit.known:
        yield StringCommand("systemctl", "daemon-reload")
    if not unit.enabled or changed:
        yield StringCommand("systemctl", "enable", "--quiet", BOOT_UNIT)
    if lacking:
        host.log(f"the node's GPUs lack something: {lacking}")
        yield FunctionCommand(started, [], {})


def started(state: Any, host: Any) -> bool:
    """What still lacks is told, and is no failure of the node: a GPU that is lost keeps no other
    one from its container, and a container that needs it is refused by name."""
    with suppress(TimeoutError):
        again = StringCommand("systemctl", "restart", "--quiet", BOOT_UNIT)
        host.run_shell_command(again, _timeout=_START_S)
    if lacking := host.get_fact(GpuNodesLacking):
        warned(
            host,
            f"not every GPU can be passed to containers: {lacking}; see journalctl -u {BOOT_UNIT}",
        )
    return True
