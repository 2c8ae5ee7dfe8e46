"""Before anything else: what the inventory asks for makes sense."""

from pathlib import Path

from pyinfra import inventory
from pyinfra.api import DeployError, deploy

from stoker.refused import Refused
from stoker.serving import selection, wishes

# Of the working directory, as pyinfra's own files are: a site is a directory of its own.
SITE = Path()


@deploy("Flag sets")
def flagsets() -> None:
    """Every flag set that any host names is sound and has a lock, or the run ends here."""
    wrong = [
        problem
        for machine in inventory
        for problem in wishes.problems(machine.name, machine.data.dict())
    ]
    if wrong:
        raise DeployError("\n".join(wrong))
    named = dict.fromkeys(
        name for machine in inventory for name in machine.data.get("flagsets") or []
    )
    try:
        selection.releases(SITE, named)
    except Refused as error:
        raise DeployError(str(error)) from error
