"""The servers of a machine: their files as wished, and their processes running what is on disk."""

from collections.abc import Generator, Iterable
from pathlib import PurePosixPath

from pyinfra import host
from pyinfra.api import FunctionCommand, QuoteString, StringCommand, operation
from pyinfra.api.command import PyinfraCommand

from stoker.facts.files import FileState, FileStates
from stoker.facts.interpreter import Interpreter
from stoker.facts.servers import Server, Servers
from stoker.facts.staging import Stages
from stoker.facts.startup import Answer, Tokens
from stoker.operations.atomic import written
from stoker.operations.refusal import refused
from stoker.operations.starting import Plan, bring_up, question, take_down
from stoker.refused import Refused
from stoker.serving import layout
from stoker.serving.deployment import Deployment
from stoker.serving.following import Patience
from stoker.serving.rendering import File, digest, files_of
from stoker.serving.secrecy import redacted
from stoker.serving.unit import Unit

Commands = Generator[PyinfraCommand, None, None]

# Renamed first: a removal that is interrupted leaves nothing that looks like somebody else's copy.
_UNSTAGE = """
rm -rf -- "$1.partial"
[ ! -f "$1/.staged" ] || mv -- "$1" "$1.partial"
rm -rf -- "$1.partial"
"""


@operation()
def defined(wanted: Deployment) -> Commands:
    """The units' files are as these flag sets say, enabled, and no others of ours are there.

    Stops nothing that is wanted; units of ours that no flag set wants are stopped and removed.
    """
    try:
        units = _units(wanted)
        files = files_of(units)
    except Refused as error:
        yield refused(error)
        return
    servers, stages = host.get_fact(Servers), host.get_fact(Stages)
    names = {unit.name for unit in units} | {u.stage.name for u in units if u.stage}
    changed = _changed(files)
    disabled = [u.name for u in units if u.name not in servers or not servers[u.name].enabled]
    reload = any(servers[u.name].needs_reload for u in units if u.name in servers)
    gone = [s.unit for s in servers.values() if s.unit not in names and _exists(s)]
    emptied = {unit: place for unit, place in stages.items() if unit not in names}
    if not (changed or disabled or reload or gone or emptied):
        host.noop(f"{len(units)} unit(s) are as the flag sets say")
        return
    if gone or emptied:
        # A copy that is still being made ends too, or it would go on filling the memory.
        yield FunctionCommand(take_down, [(*gone, *emptied)], {})
        # The staging unit's file is what knows of the copy, so it goes last.
        kept = {unit.stage.destination for unit in units if unit.stage}
        yield from _unstaged(set(emptied.values()) - kept)
        yield from _removed([*gone, *emptied])
    for file in changed:
        yield from written(file)
    if reload or gone or emptied or any(_is_unit(file) for file in changed):
        yield StringCommand("systemctl", "daemon-reload")
    if any(file.path == layout.JOURNAL for file in changed):
        yield StringCommand("systemctl", "try-restart", "systemd-journald.service")
    if disabled:
        yield StringCommand("systemctl", "enable", "--quiet", *map(QuoteString, disabled))


@operation()
def serving(
    wanted: Deployment, stop_foreign: bool = False, patience: Patience | None = None
) -> Commands:
    """Every unit's process runs what is on disk and answers with a generated token.

    + stop_foreign: end a server that was started by hand and holds a port or GPU of ours
    + patience: when a start that neither dies nor answers is given up

    Restarts exactly those whose process carries another digest or another command line; one that
    runs the right thing and does not answer yet is followed, not restarted.
    """
    try:
        units = _units(wanted)
    except Refused as error:
        yield refused(error)
        return
    servers = host.get_fact(Servers)
    right = {u.name: s for u in units if (s := servers.get(u.name)) and runs(u, s)}
    answers = _answers([unit for unit in units if unit.name in right], right)
    quiet = {name for name in right if name not in answers or answers[name].error}
    silent = [u for u in units if u.name not in right or u.name in quiet]
    if not silent:
        host.noop(f"{len(units)} unit(s) serve")
        return
    plan = Plan(
        tuple(silent),
        frozenset(u.name for u in units),
        frozenset(right),
        stop_foreign,
        patience or Patience(),
    )
    yield FunctionCommand(bring_up, [plan], {})


def runs(unit: Unit, server: Server) -> bool:
    """Whether this process is what the unit's files on disk would start."""
    return (
        server.active == "active"
        and server.running_digest == digest(unit)
        and server.words == redacted(unit.argv)
    )


def _units(wanted: Deployment) -> tuple[Unit, ...]:
    if not wanted.flagsets:
        return ()
    distribution = host.get_fact(Interpreter)
    if distribution is None:
        raise Refused(
            "cannot place the flag sets: /etc/os-release of the container was not read; "
            "start the container"
        )
    return wanted.units(distribution.python)


def _answers(units: list[Unit], right: dict[str, Server]) -> dict[str, Answer]:
    if not units:
        return {}
    asked = tuple(question(unit, right[unit.name].main_pid or 0) for unit in units)
    answers: dict[str, Answer] = host.get_fact(Tokens, questions=asked)
    return answers


def _changed(files: Iterable[File]) -> list[File]:
    files = list(files)
    paths = tuple(str(file.path) for file in files)
    found = host.get_fact(FileStates, paths=paths) if paths else {}
    return [
        file
        for file in files
        if found.get(str(file.path)) != FileState(file.sha256, file.mode, "root:root")
    ]


def _is_unit(file: File) -> bool:
    return file.path.parent == layout.UNITS


def _exists(server: Server) -> bool:
    return server.load != "not-found" or server.active != "inactive"


def _removed(units: list[str]) -> Commands:
    # By rm alone: `systemctl disable` refuses them all when one file is gone already.
    paths: list[PurePosixPath] = [layout.ENABLED / unit for unit in units]
    paths += [layout.env_file(unit) for unit in units]
    paths += [layout.unit_file(unit) for unit in units]
    paths += [layout.DEATHS / f"{unit}.{kind}" for unit in units for kind in ("json", "seen")]
    yield StringCommand("rm", "-f", "--", *(QuoteString(str(path)) for path in paths))


def _unstaged(places: set[str]) -> Commands:
    """The memory of models that nobody serves any more: whole copies only with our mark, and what
    an interrupted one left."""
    for place in sorted(places):
        yield StringCommand("sh", "-c", QuoteString(_UNSTAGE), "sh", QuoteString(place))
