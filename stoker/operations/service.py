"""The servers of a machine: what they share, and their processes running what is wanted."""

from collections.abc import Generator

from pyinfra import host, logger
from pyinfra.api import FunctionCommand, QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.facts.timers import Timer
from stoker.operations import preflight
from stoker.operations.atomic import written
from stoker.operations.changing import Change, change
from stoker.operations.measuring import measure
from stoker.operations.refusal import refused
from stoker.operations.standing import differing, machine, states, units_of
from stoker.operations.switching import state_of
from stoker.refused import Refused
from stoker.serving import layout
from stoker.serving.changing.lease import Lease
from stoker.serving.deployment import Deployment
from stoker.serving.following import Patience
from stoker.serving.rendering import File, support_of
from stoker.serving.unit import Unit

Commands = Generator[PyinfraCommand, None, None]


@operation()
def defined(wanted: Deployment) -> Commands:
    """What the units of these flag sets share lies there; no unit itself is touched."""
    try:
        files = support_of(units_of(host, wanted))
    except Refused as error:
        yield refused(error)
        return
    changed = differing(states(host, files), files)
    boot = host.get_fact(Timer, unit=layout.PUT_BACK_UNIT)
    disabled = bool(files) and not boot.enabled
    if not (changed or disabled):
        host.noop("what the units share is there")
        return
    for file in changed:
        yield from written(file)
    if any(_is_unit(file) for file in changed):
        yield StringCommand("systemctl", "daemon-reload")
    if any(file.path == layout.JOURNAL for file in changed):
        yield StringCommand("systemctl", "try-restart", "systemd-journald.service")
    if disabled:
        yield StringCommand("systemctl", "enable", "--quiet", QuoteString(layout.PUT_BACK_UNIT))


@operation()
def serving(
    wanted: Deployment,
    stop_foreign: bool = False,
    candidate: bool = False,
    patience: Patience | None = None,
    lease: Lease | None = None,
) -> Commands:
    """Every unit's files and process are what is wanted, and it answers with a generated token.

    + stop_foreign: end a server that was started by hand and holds a port or GPU of ours
    + candidate: flag sets without evidence may be tried
    + patience: when a start that neither dies nor answers is given up
    + lease: for how long a run that shows no sign of life may still be alive

    Restarts exactly those that are to run something else, one at a time where they serve already,
    and puts back what served before where one fails. Units that nobody wants go last. Where there
    is nothing to change, a candidate without evidence is measured as it is.
    """
    try:
        found = machine(host, wanted)
    except Refused as error:
        yield refused(error)
        return
    left = state_of(host).open
    if found.plan.nothing and not (found.emptied or found.reload or left):
        yield from _left_as_they_are(wanted, found.units, candidate)
        return
    wish = Change(wanted, stop_foreign, candidate, patience or Patience(), lease or Lease())
    yield FunctionCommand(change, [wish], {})


def _left_as_they_are(wanted: Deployment, units: tuple[Unit, ...], candidate: bool) -> Commands:
    """They serve. What was asked for as a candidate is measured where it is, if nobody has yet."""
    try:
        asked = preflight.unmeasured(host, wanted, units) if candidate else {}
    except Refused as error:
        yield refused(error)
        return
    if asked:
        yield FunctionCommand(measure, [wanted, units], {})
        return
    for line in preflight.remarks(wanted):
        host.log(line, log_func=logger.warning)
    host.noop(f"{len(units)} unit(s) serve")


def _is_unit(file: File) -> bool:
    return file.path.parent == layout.UNITS
