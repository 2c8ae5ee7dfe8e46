"""Before anything else: what the inventory asks for makes sense."""

from pathlib import Path

from pyinfra import inventory
from pyinfra.api import DeployError, deploy
from pyinfra.api.host import Host

from stoker.refused import Refused
from stoker.serving import hostdata

# Of the working directory, as pyinfra's own files are: a site is a directory of its own.
SITE = Path()


@deploy("Flag sets")
def flagsets() -> None:
    """Every host's data and every flag set it names are sound, or the run ends here."""
    try:
        hostdata.check(SITE, {machine.name: _data(machine) for machine in inventory})
    except Refused as error:
        raise DeployError(str(error)) from error


def _data(machine: Host) -> dict[str, object]:
    """Ours of its data. Who serves must name its flag sets, `[]` for none: a misspelt key would
    otherwise take all its servers away."""
    data = {key: machine.data.get(key) for key in (*hostdata.KEYS, *hostdata.PLACE)}
    needed = {"flagsets"} if "inference" in machine.groups else set()
    return {key: value for key, value in data.items() if value is not None or key in needed}
