"""The servers: units made of the host's flag sets, running and answering."""

from pathlib import Path

from pyinfra import host
from pyinfra.api import deploy

from stoker.operations import diagnosis
from stoker.operations.service import defined, serving
from stoker.serving import hostdata, loading, lock
from stoker.serving.deployment import Deployment

# Of the working directory, as pyinfra's own files are: a site is a directory of its own.
FLAGSETS, LOCKS = Path("group_data/flagsets"), Path("locks")


@deploy("Service")
def service() -> None:
    """From host data `flagsets`, `service_user`, `secrets`, `stop_foreign`, `candidate`."""
    wanted = _deployment()
    diagnosis.installed(name="Place what says why a server died", units=bool(wanted.flagsets))
    diagnosis.told(name="Tell which servers have died since the last run")
    defined(name="Place what the servers' units share", wanted=wanted)
    serving(
        name="Bring the servers to their first token",
        wanted=wanted,
        stop_foreign=host.data.get("stop_foreign", False),
        candidate=hostdata.asked(host.data.get("candidate", False)),
    )


def _deployment() -> Deployment:
    flagsets = loading.load(FLAGSETS, host.data.flagsets)
    releases = [lock.load(LOCKS, flagset.sglang) for flagset in flagsets]
    return Deployment(
        flagsets=tuple(zip(flagsets, releases, strict=True)),
        user=host.data.get("service_user", "sglang"),
        secrets=host.data.get("secrets", {}),
    )
