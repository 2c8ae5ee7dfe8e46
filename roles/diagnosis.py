"""Every unit of every host: its state, and why it died if it did. Told once for all of them."""

import sys
from typing import Any
from weakref import WeakKeyDictionary

from pyinfra import host, state
from pyinfra.api import DeployError
from pyinfra.context import ctx_state

from stoker.operations import findings, showing
from stoker.operations.findings import Finding

_RUNS: WeakKeyDictionary[Any, dict[str, list[Finding]]] = WeakKeyDictionary()


def diagnosis() -> None:
    """Ask this host; the last of the run's hosts prints all and ends it, with its exit code.

    All of it happens before pyinfra would ask whether to execute: nothing is to be executed, so
    `--dry` and `-y` make no difference. It has to be alone in its run.
    """
    if state.op_meta:
        raise DeployError(
            "cannot diagnose after another file: this run would end before its operations are "
            "executed; run diagnose.py by itself"
        )
    found = _RUNS.setdefault(ctx_state.get(), {})
    found[host.name] = [] if "pve" in host.groups else findings.of(host)
    if all(one.name in found for one in state.inventory.get_active_hosts()):
        sys.exit(_end(found))


def _end(found: dict[str, list[Finding]]) -> int:
    wanted = [one for one in state.inventory if state.is_host_in_limit(one)]
    lost = [one for one in wanted if one.name not in found]
    told_of = [finding for one in wanted for finding in found.get(one.name, [])]
    told_of += [findings.unreachable(one) for one in lost]
    showing.show(told_of)
    return 1 if not told_of or any(finding.wrong for finding in told_of) else 0
