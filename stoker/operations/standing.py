"""What a machine serves beside what is wanted of it, read anew whenever somebody decides by it."""

import itertools
import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stoker.facts.files import FileState, FileStates
from stoker.facts.interpreter import Interpreter
from stoker.facts.servers import Server, Servers
from stoker.facts.staging import Stages
from stoker.facts.startup import Answer, Tokens
from stoker.operations.following import question
from stoker.refused import Refused
from stoker.serving.changing.planning import Plan, plan
from stoker.serving.changing.standing import Standing, Wanted
from stoker.serving.deployment import Deployment
from stoker.serving.placement import places, refuse_conflicts
from stoker.serving.rendering import File, digest, own_files
from stoker.serving.secrecy import redacted
from stoker.serving.unit import NCCL_OFFSET, Unit


@dataclass(frozen=True)
class Machine:
    """All that a change is decided by."""

    units: tuple[Unit, ...]
    """As wanted."""
    servers: Mapping[str, Server]
    stages: Mapping[str, str]
    """Staging units on disk, and the places they fill."""
    plan: Plan

    @property
    def emptied(self) -> tuple[str, ...]:
        """Of the staging units those that nobody wants any more."""
        wanted = {unit.stage.name for unit in self.units if unit.stage}
        return tuple(unit for unit in self.stages if unit not in wanted)

    @property
    def stale(self) -> frozenset[str]:
        """Places in memory that hold a model which nobody is going to serve from there."""
        wanted = {unit.stage.destination for unit in self.units if unit.stage}
        return frozenset(self.stages.values()) - wanted

    @property
    def reload(self) -> bool:
        """systemd has not read some unit's file yet."""
        return any(server.needs_reload for server in self.servers.values())

    @property
    def alive(self) -> frozenset[str]:
        return frozenset(name for name, server in self.servers.items() if server.alive)

    @property
    def right(self) -> frozenset[str]:
        """Wanted units whose process is what their files would start."""
        return frozenset(u.name for u in self.units if _runs(u, self.servers.get(u.name)))


def units_of(host: Any, wanted: Deployment) -> tuple[Unit, ...]:
    """The wanted units on this host; raises `Refused` if they cannot live there."""
    if not wanted.flagsets:
        return ()
    distribution = host.get_fact(Interpreter)
    if distribution is None:
        raise Refused(
            "cannot place the flag sets: /etc/os-release of the container was not read; "
            "start the container"
        )
    units = wanted.units(distribution.python)
    refuse_conflicts(units)
    return units


def machine(host: Any, wanted: Deployment) -> Machine:
    """What there is to do; raises `Refused` as `units_of` does."""
    units = units_of(host, wanted)
    servers: dict[str, Server] = host.get_fact(Servers)
    servers = {name: server for name, server in servers.items() if server.exists}
    answering = _answering(host, [u for u in units if _runs(u, servers.get(u.name))], servers)
    files = {unit.name: own_files([unit]) for unit in units}
    there = states(host, [file for own in files.values() for file in own])
    standing = {name: Standing(name, _claims(one)) for name, one in servers.items()}
    for unit in (unit for unit in units if unit.name in servers):
        server = servers[unit.name]
        standing[unit.name] = Standing(
            name=unit.name,
            claims=_claims(server),
            written=all(_text(there, file) == file.sha256 for file in files[unit.name]),
            tidy=server.enabled and not differing(there, files[unit.name]),
            alive=server.alive,
            right=_runs(unit, server),
            answers=unit.name in answering,
        )
    wishes = [Wanted(u.name, u.flagset, _wishes(u)) for u in units]
    return Machine(units, servers, host.get_fact(Stages), plan(wishes, standing))


def states(host: Any, files: Iterable[File]) -> dict[str, FileState]:
    """How these files lie there; absent ones are left out."""
    paths = tuple(dict.fromkeys(str(file.path) for file in files))
    found: dict[str, FileState] = host.get_fact(FileStates, paths=paths) if paths else {}
    return found


def differing(there: Mapping[str, FileState], files: Iterable[File]) -> list[File]:
    """Those that lie there otherwise, or not at all."""
    return [
        file
        for file in files
        if there.get(str(file.path)) != FileState(file.sha256, file.mode, "root:root")
    ]


def _text(there: Mapping[str, FileState], file: File) -> str:
    found = there.get(str(file.path))
    return found.sha256 if found else ""


def _runs(unit: Unit, server: Server | None) -> bool:
    """Whether this process is what the unit's wanted files would start."""
    return (
        server is not None
        and server.active == "active"
        and server.running_digest == digest(unit)
        and server.words == redacted(unit.argv)
    )


def _answering(host: Any, units: list[Unit], servers: Mapping[str, Server]) -> set[str]:
    if not units:
        return set()
    asked = tuple(question(unit, servers[unit.name].main_pid or 0) for unit in units)
    answers: dict[str, Answer] = host.get_fact(Tokens, questions=asked)
    return {name for name, answer in answers.items() if not answer.error}


def _wishes(unit: Unit) -> frozenset[str]:
    return frozenset(places((unit.port, unit.nccl_port), unit.gpus))


def _claims(server: Server) -> frozenset[str]:
    ports = {port_of(server.local_url), _port_word(server.words)} - {0}
    both = {port for own in ports for port in (own, own - NCCL_OFFSET)}
    return frozenset(places(sorted(both), server.gpus))


def port_of(url: str) -> int:
    """Of a server's address; 0: it has none."""
    return urllib.parse.urlsplit(url).port or 0


def _port_word(words: tuple[str, ...]) -> int:
    """Of a running process, whose file may say another by now."""
    following = itertools.pairwise(words)
    return next((int(v) for k, v in following if k == "--port" and v.isdigit()), 0)
