"""Stuck GPUs of a node's containers, cleared by `stoker.pyz` on the node itself."""

import re
from collections.abc import Generator, Mapping
from typing import Any

from pyinfra import host, logger, state
from pyinfra.api import FunctionCommand, QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.facts.files import FileState, FileStates
from stoker.facts.gpu_node import RecoveryPlan, planned
from stoker.operations.atomic import written_bytes
from stoker.recovery import bundle
from stoker.serving import layout
from stoker.serving.hostdata import Recovery

Commands = Generator[PyinfraCommand, None, None]

SERVE = "--serve"
"""The inventory wants its servers: they are brought up even if somebody stopped them."""
MEANINGS = {
    1: "stoker.pyz met something it does not know; report its lines above",
    2: "stoker.pyz does not know these options; run this again, it places its own version first",
    10: "somebody else holds its GPUs; end what is named above, nobody but you may",
    11: "the next step is yours to allow; allow it in this container's `recovery` data, or do it "
    "by hand as told above",
    12: "another run is at work on it; wait for that one, then run this again",
    13: "not everything could be seen, and what cannot be seen is not touched; see above what",
    20: "the driver itself does not work; correct it as told above",
    30: "its memory is free but a server does not serve; correct the cause told above, then deploy",
    75: "HOST REBOOT NEEDED, and only you do that; see above why and what else runs on the host",
}
"""Exit codes of `stoker.pyz recover` other than 0: what is, and what to do."""
_RUN = r"""
/usr/bin/python3 "$@"
code=$?
[ "$code" = 0 ] || echo "exit code $code"
exit "$code"
"""


@operation()
def installed() -> Commands:
    """`stoker.pyz` of this version lies on the node, for this run and for 3 a.m."""
    path = str(layout.PYZ)
    there = host.get_fact(FileStates, paths=(path,)).get(path)
    if there == FileState(bundle.digest(), 0o755, "root:root"):
        host.noop(f"{path} is of this version")
        return
    yield from written_bytes(layout.PYZ, bundle.contents(), 0o755)


@operation()
def cleared(containers: Mapping[int, Recovery]) -> Commands:
    """Nothing stuck holds the GPUs of these containers, and their servers serve.

    + containers: VMID -> what is allowed there

    What is to be done is planned here and decided on the node, which looks again before each step.
    A dry run tells the plan.
    """
    stuck: dict[int, tuple[str, ...]] = {}
    for vmid, allowed in containers.items():
        options = (SERVE, *allowed.options)
        plan = planned(host.get_fact(RecoveryPlan, vmid=vmid, options=options))
        if not plan.changes:
            continue
        stuck[vmid] = options
        if not state.is_executing:
            for text in plan.texts or ("no plan came; stoker.pyz failed on the node",):
                host.log(f"CT {vmid}: {text}", log_func=logger.info)
    if stuck:
        yield FunctionCommand(climb, [stuck], {})
    else:
        host.noop(f"{len(containers)} container(s) are clean")


def climb(state: Any, host: Any, stuck: Mapping[int, tuple[str, ...]]) -> bool:
    """Recover one after the other; False if one was not, each told in a sentence."""
    failures = [f for vmid, options in stuck.items() if (f := recover(host, vmid, options))]
    for failure in failures:
        host.log_styled(failure, fg="red", log_func=logger.error)
    return not failures


def recover(host: Any, vmid: int, options: tuple[str, ...]) -> str:
    """Run `stoker.pyz recover` with its lines shown as they come; a sentence if it failed."""
    words = (str(layout.PYZ), "recover", str(vmid), *options)
    command = StringCommand("sh", "-c", QuoteString(_RUN), "sh", *map(QuoteString, words))
    try:
        done, output = host.run_shell_command(command, print_output=True)
    except OSError as error:
        return (
            f"cannot follow the recovery of CT {vmid}: {error}; it goes on by itself on the node, "
            "run this again to follow it"
        )
    if done:
        return ""
    code = _exit_code(output.stdout_lines)
    unknown = f"stoker.pyz ended with {code}; see its lines above"
    return f"cannot recover CT {vmid}: {MEANINGS.get(code or 1, unknown)}"


def _exit_code(lines: list[str]) -> int | None:
    """The code that the last line tells; None if it was cut off before."""
    found = re.fullmatch(r"exit code (\d+)", lines[-1]) if lines else None
    return int(found[1]) if found else None
