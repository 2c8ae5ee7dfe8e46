"""Our servers as they are, and whoever else serves or holds a GPU. Needs no Python there."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.serving import layout

REDACT = r"""
function redact(word, previous) {
    if (previous ~ /^--((ap|ad)[a-z-]*|[a-z-]*(key|token|secret|password))$/) return "***"
    if (word ~ /^--((ap|ad)[a-z-]*|[a-z-]*(key|token|secret|password))=/) sub(/=.*/, "=***", word)
    return word
}
"""
"""awk: a word of a command line without its secret. argparse takes `--ap` for `--api-key`."""

_SERVERS = r"""
dir=$1 etc=$2
units=$({
    for file in "$dir"/sglang.service "$dir"/sglang@*.service; do
        [ ! -e "$file" ] || echo "${file##*/}"
    done
    systemctl list-units --all --plain --no-legend --full sglang.service 'sglang@*.service' |
        awk '{ print $1 }'
} 2>/dev/null | sort -u)
[ -n "$units" ] || exit 0
echo "Address=$(hostname -I 2>/dev/null | awk '{ print $1 }')"
systemctl show --timestamp=unix -p Id -p LoadState -p ActiveState -p SubState -p MainPID \
    -p ExecMainStartTimestamp -p NRestarts -p Result -p InvocationID -p UnitFileState \
    -p NeedDaemonReload $units
for unit in $units; do
    printf '\nOf=%s\n' "$unit"
    sed -n -e '/^\[X-Stoker\]/,$s/^[A-Za-z]*=/X&/p' -e 's/^Requires=/XRequires=/p' \
        -e 's/^Environment="CUDA_VISIBLE_DEVICES=\([0-9,]*\)".*/Gpus=\1/p' "$dir/$unit"
    sed -n 's/^STOKER_DIGEST="\{0,1\}\([0-9a-f]*\).*/DiskDigest=\1/p' \
        "$etc/${unit%.service}.env"
    pid=$(systemctl show -p MainPID --value "$unit")
    [ "$pid" -gt 0 ] 2>/dev/null || continue
    tr '\0' '\n' < "/proc/$pid/environ" |
        sed -n -e 's/^STOKER_DIGEST=/RunningDigest=/p' -e 's/^CUDA_VISIBLE_DEVICES=/Gpus=/p'
    tr '\0' '\n' < "/proc/$pid/cmdline" | awk "$3"'{ print "Word=" redact($0, last); last = $0 }'
done 2>/dev/null
true
"""


_LAST = "Asked=yes"
"""Said last, so that nothing is not taken for no servers."""


@dataclass(frozen=True)
class Server:
    """One unit of ours, as systemd and the running process tell it."""

    unit: str
    load: str
    """`loaded`, `not-found` (its file is gone), `masked`, ..."""
    active: str
    """systemd's ActiveState: active, activating, deactivating, inactive, failed."""
    sub: str
    """systemd's SubState: running, auto-restart, dead, ..."""
    main_pid: int | None
    """In the container's own numbering; None if it does not run."""
    since: datetime | None
    """Start of the main process; None if it never ran."""
    restarts: int
    result: str
    """How it ended last: success, exit-code, signal, start-limit-hit, ..."""
    invocation: str
    enabled: bool
    needs_reload: bool
    """Its file is newer than what systemd has read."""
    running_digest: str | None
    """STOKER_DIGEST of the running process; None if it does not run or is none of ours."""
    disk_digest: str | None
    words: tuple[str, ...]
    """The running process's command line without secrets."""
    flagset: str
    sglang: str
    url: str
    """Where it listens, with the container's own address in place of 0.0.0.0."""
    local_url: str
    """The same from inside the container."""
    model: str
    python: str = ""
    """The venv's interpreter, by its file."""
    requires: str = ""
    """The staging unit it waits for; empty: none."""
    gpus: tuple[int, ...] = ()
    """Of its file and of its process, which may be older."""

    @property
    def exists(self) -> bool:
        """It has a file, or a process."""
        return self.load != "not-found" or self.active != "inactive"

    @property
    def alive(self) -> bool:
        """It runs, starts, or will be started again by systemd."""
        return self.active not in ("inactive", "failed")


class Servers(FactBase[dict[str, Server]]):
    """Every unit `sglang.service` and `sglang@*.service`: unit name -> `Server`.

    Source: `systemctl show`, the unit's and environment file, /proc/<main pid>. No units: `{}`.
    """

    @staticmethod
    def default() -> dict[str, Server]:
        return {}

    def command(self) -> StringCommand:
        script = QuoteString(_SERVERS)
        return StringCommand(
            "sh", "-c", script, "sh", str(layout.UNITS), str(layout.ETC), QuoteString(REDACT)
        )

    def process(self, output: list[str]) -> dict[str, Server]:
        address, shown, ours = "", {}, {}
        for block in _blocks(output):
            address = (block.pop("Address", None) or [address])[0]
            if "Id" in block:
                shown[block["Id"][0]] = block
            elif "Of" in block:
                ours[block["Of"][0]] = block
        return {
            unit: _server(unit, block, ours.get(unit, {}), address) for unit, block in shown.items()
        }


class AskedServers(FactBase[dict[str, Server] | None]):
    """The same as `Servers`; None: the container could not be asked, or not to the end.

    For whoever goes on without an answer: pyinfra takes a default for a fact that fails.
    """

    def command(self) -> StringCommand:
        script = QuoteString(f"({_SERVERS})\necho {_LAST}")
        return StringCommand(
            "sh", "-c", script, "sh", str(layout.UNITS), str(layout.ETC), QuoteString(REDACT)
        )

    def process(self, output: list[str]) -> dict[str, Server] | None:
        return Servers().process(output[:-1]) if output[-1] == _LAST else None


def _blocks(lines: list[str]) -> Iterator[dict[str, list[str]]]:
    """Blocks of `Key=value` lines between empty lines; a key may come several times."""
    block: dict[str, list[str]] = {}
    for line in [*lines, ""]:
        key, equals, value = line.partition("=")
        if equals:
            block.setdefault(key, []).append(value)
        elif block and not line:
            yield block
            block = {}


def _server(
    unit: str, shown: dict[str, list[str]], ours: dict[str, list[str]], address: str
) -> Server:
    def one(key: str) -> str:
        return (shown.get(key) or ours.get(key) or [""])[0]

    return Server(
        unit=unit,
        load=one("LoadState"),
        active=one("ActiveState"),
        sub=one("SubState"),
        main_pid=int(one("MainPID") or 0) or None,
        since=_time(one("ExecMainStartTimestamp")),
        restarts=int(one("NRestarts") or 0),
        result=one("Result"),
        invocation=one("InvocationID"),
        enabled=one("UnitFileState") == "enabled",
        needs_reload=one("NeedDaemonReload") == "yes",
        running_digest=one("RunningDigest") or None,
        disk_digest=one("DiskDigest") or None,
        words=tuple(ours.get("Word", ())),
        flagset=one("XFlagSet"),
        sglang=one("XSGLang"),
        local_url=one("XURL").replace("//0.0.0.0:", "//127.0.0.1:"),
        url=one("XURL").replace("//0.0.0.0:", f"//{address or '0.0.0.0'}:"),
        model=one("XModel"),
        python=one("XPython"),
        requires=one("XRequires"),
        gpus=_gpus(ours.get("Gpus", [])),
    )


def _gpus(lines: list[str]) -> tuple[int, ...]:
    return tuple(sorted({int(n) for line in lines for n in line.split(",") if n.isdigit()}))


def _time(stamp: str) -> datetime | None:
    return datetime.fromtimestamp(int(stamp[1:]), UTC) if stamp[:1] == "@" else None
