"""Servers that serve already are measured where they are; nothing of theirs is changed."""

from collections.abc import Sequence
from typing import Any

from pyinfra import logger
from pyinfra.api import OperationError

from stoker.operations.preflight import unmeasured
from stoker.operations.proved import Proofs
from stoker.refused import Refused
from stoker.serving.deployment import Deployment
from stoker.serving.unit import Unit


def measure(state: Any, host: Any, wanted: Deployment, units: Sequence[Unit]) -> bool:
    """Prove one unit of each flag set that has no evidence, and keep it; False after a failure.

    One that fails goes on as it was: it was not changed, so there is nothing to put back.
    """
    try:
        checked = unmeasured(host, wanted, units)
        proofs = Proofs(host, checked)
        for unit in units:
            if unit.flagset in checked:
                proofs.prove(unit, lambda seconds: None)
                proofs.record([unit])
    except (OperationError, Refused) as error:
        for line in [*str(error).splitlines(), "nothing was changed"]:
            host.log_styled(line, fg="red", log_func=logger.error)
        return False
    return True
