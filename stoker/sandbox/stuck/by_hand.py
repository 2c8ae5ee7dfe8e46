"""The container's own SGLang, started outside its unit as one does at 3 a.m.: setsid, nohup."""

from stoker.refused import Refused
from stoker.sandbox.node.marked import NAME
from stoker.sandbox.stuck import container, holder, processes, started
from stoker.sandbox.stuck.container import Target
from stoker.sandbox.stuck.processes import Process
from stoker.sandbox.stuck.started import Started

LOG = "/tmp/started-by-hand.log"
# SGLang's own start: 40 s on two cores, four minutes where others kept them busy.
START_TIMEOUT_S = 600

# $1 mark, $2 environment file, $3 user, $4 directory, then the words for env and the command.
_SCRIPT = f"""
mark=$1 file=$2 user=$3 directory=$4
shift 4
set -a; . "$file"; set +a
cd "$directory"
{NAME}=$mark exec setsid nohup setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups \\
  env "$@" </dev/null >{LOG} 2>&1 &
"""


def server(target: Target, one: Started, through: tuple[str, ...] = ()) -> list[Process]:
    """Its processes once it listens and one of them holds a GPU; its unit is failed before.

    `through` is put before the command.
    """
    units = target.units()
    if not units:
        raise Refused(
            f"cannot start a server by hand in sandbox {target.state.name}: no unit was deployed "
            "to CT 200; run `pyinfra inventory/sandbox.py deploy.py` first"
        )
    command = container.command(target.shell(f"cat {container.UNITS}/{units[0]}"))
    target.given_up()
    one = started.changed(target.state, one, files=(LOG,))
    words = [one.mark, command.environment_file, command.user, command.directory]
    target.shell(_SCRIPT, *words, *command.environment, *through, *command.words)
    leader = processes.awaited(target, one, bool, "the start of the server")[0]
    one = started.changed(target.state, one, sessions=((leader.session, leader.start),))
    return processes.awaited(
        target,
        one,
        lambda seen: _holds(seen) and listens(target, command.port),
        f"a server of {units[0]} by hand (its log is {LOG} in the container)",
        START_TIMEOUT_S,
    )


def _holds(seen: list[Process]) -> bool:
    return any(process.nodes for process in seen)


def listens(target: Target, port: int) -> bool:
    """Whether anything listens on that port in the container."""
    told = target.shell("cat /proc/net/tcp /proc/net/tcp6; true")
    rows = [line.split() for line in told.splitlines() if ":" in line]
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


def orphaned(target: Target, one: Started) -> list[Process]:
    """What is left of such a server whose main process was killed: its children, with the GPU.

    SGLang 0.5.12 has its children killed with their parent (PDEATHSIG), so nothing would be left.
    They are kept from asking for that: what is left is what another version leaves.
    """
    server(target, one, (holder.PROGRAM, "without-pdeathsig"))
    one = next(saved for saved in started.load(target.state) if saved.mark == one.mark)
    processes.kill(target, one.sessions[0])
    main = one.sessions[0][0]
    return processes.awaited(
        target,
        one,
        lambda left: _holds(left) and all(process.pid != main for process in left),
        "orphans of the server that hold its GPU",
    )
