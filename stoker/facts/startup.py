"""One look at a unit that is starting: state, signs of work, last lines; and its first token."""

import json
from dataclasses import asdict, dataclass

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.serving.rendering import INSIDE

LINES = 30
_STARTUP = r"""
unit=$1 port=$2 stage=$3 lines=$4
systemctl show -p ActiveState -p SubState -p MainPID -p NRestarts -p Result -p InvocationID \
    -p ExecMainStatus -p ExecMainPID -p Job "$unit"
of=$unit
if [ -n "$stage" ]; then
    echo "Stage=$(systemctl show -p ActiveState --value "$stage")"
    [ "$(systemctl show -p ActiveState --value "$unit")" != inactive ] || of=$stage
fi
invocation=$(systemctl show -p InvocationID --value "$of")
pids=$(grep -lE "/$unit(/|\$)|/${stage:-/}(/|\$)" /proc/[0-9]*/cgroup 2>/dev/null | cut -d/ -f3)
for pid in $pids; do
    sed 's/^.*) //' "/proc/$pid/stat"
    cat "/proc/$pid/io"
done 2>/dev/null | awk '
    /^[a-z_]+: / { if ($1 == "rchar:" || $1 == "wchar:" || $1 == "read_bytes:") io += $2; next }
    NF > 20 { ticks += $12 + $13; io += $10 * 4096 }
    END { printf "Ticks=%.0f\nIo=%.0f\n", ticks, io }'
main=$(systemctl show -p MainPID --value "$unit")
inodes=$(awk -v port="$port" '$4 == "0A" && $2 ~ ":" port "$" { print $10 }' \
    /proc/net/tcp /proc/net/tcp6 2>/dev/null)
for inode in $inodes; do
    [ "$main" -gt 0 ] || continue
    ls -l "/proc/$main/fd" 2>/dev/null | grep -qF "socket:[$inode]" && echo Listens=yes
done
[ -n "$invocation" ] || exit 0
# By transport: what diagnose.pyz says of it is told elsewhere.
journalctl -q --no-pager --show-cursor -o cat -n "$lines" \
    _SYSTEMD_INVOCATION_ID="$invocation" _TRANSPORT=stdout + \
    INVOCATION_ID="$invocation" 2>/dev/null |
    sed 's/^/Line=/'
true
"""


@dataclass(frozen=True)
class Look:
    """What one look at a unit saw."""

    active: str
    sub: str
    queued: bool
    """systemd has still a job for it, such as a start that waits for the model's staging."""
    main_pid: int | None
    restarts: int
    result: str
    status: int
    """Exit code or signal number of the last main process."""
    invocation: str
    ticks: int
    """CPU time of all its processes and its staging's, in 1/100 s; falls when one ends."""
    io_bytes: int
    """Bytes read, written and mapped in by them."""
    listens: bool
    """Its main process itself listens on its port."""
    cursor: str
    """The journal's place of the last line; changes with every line."""
    lines: tuple[str, ...]
    """Last lines of this start; of the staging while that runs."""
    began: bool = True
    """Its main process was started; not, if what runs before it still does or has failed."""


class Startup(FactBase[Look | None]):
    """A `Look`; None if there is no such unit. Source: systemctl, /proc, journalctl."""

    def command(self, unit: str, port: int, stage: str = "") -> StringCommand:
        words = (QuoteString(unit), f"{port:04X}", QuoteString(stage), str(LINES))
        return StringCommand("sh", "-c", QuoteString(_STARTUP), "sh", *words)

    def process(self, output: list[str]) -> Look | None:
        shown: dict[str, str] = {}
        lines: list[str] = []
        for line in output:
            key, _, value = line.partition("=")
            if key == "Line":
                lines.append(value)
            else:
                shown[key] = value
        if not shown.get("ActiveState"):
            return None
        cursor = lines.pop() if lines and lines[-1].startswith("-- cursor: ") else ""
        return Look(
            active=shown["ActiveState"],
            sub=shown.get("SubState", ""),
            queued=shown.get("Job", "") not in ("", "0"),
            main_pid=int(shown.get("MainPID") or 0) or None,
            restarts=int(shown.get("NRestarts") or 0),
            result=shown.get("Result", ""),
            status=int(shown.get("ExecMainStatus") or 0),
            invocation=shown.get("InvocationID", ""),
            ticks=int(shown.get("Ticks") or 0),
            io_bytes=int(shown.get("Io") or 0),
            listens=shown.get("Listens") == "yes",
            cursor=cursor,
            lines=tuple(lines),
            began=shown.get("ExecMainPID") != "0",
        )


@dataclass(frozen=True)
class Question:
    """What to ask a server, and of which process."""

    unit: str
    python: str
    url: str
    model: str
    pid: int
    prompt: str = "Say one word."
    max_tokens: int = 1


@dataclass(frozen=True)
class Answer:
    """What came."""

    tokens: int
    text: str
    error: str | None
    """Why no token came; None if one did."""


class Tokens(FactBase[dict[str, Answer]]):
    """Unit -> `Answer` to a request for tokens, asked from inside the container.

    Source: /health, /v1/models and /v1/chat/completions, by the first server's venv's Python.
    A server that is not named in the answer did not answer.
    """

    @staticmethod
    def default() -> dict[str, Answer]:
        return {}

    def command(self, questions: tuple[Question, ...]) -> StringCommand:
        asked = [asdict(question) for question in questions]
        script = (INSIDE / "ask_token.py").read_text(encoding="utf-8")
        python = QuoteString(questions[0].python)
        return StringCommand(
            python, "-I", "-c", QuoteString(script), QuoteString(json.dumps(asked)), "|| true"
        )

    def process(self, output: list[str]) -> dict[str, Answer]:
        answers = (json.loads(line) for line in output if line.startswith("{"))
        return {a["unit"]: Answer(a["tokens"], a["text"], a["error"]) for a in answers}
