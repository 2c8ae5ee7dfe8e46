"""A unit and its last start, as systemd has them."""

from __future__ import annotations

import re
import signal
import time
from dataclasses import dataclass

from stoker.diagnosis import reports
from stoker.diagnosis.running import Failed, answer
from stoker.health.crash.death import Death

_PROPERTIES = (
    "ActiveState,SubState,Result,NRestarts,InvocationID,FragmentPath,EnvironmentFiles,"
    "ExecMainPID,ExecMainCode,ExecMainStatus,ExecMainStartTimestampMonotonic,"
    "ExecMainExitTimestampMonotonic,InactiveExitTimestampMonotonic"
)
_OURS = re.compile(r"sglang(@[^/]+)?\.service$")
_CODES = {"1": "exited", "2": "killed", "3": "dumped"}
"""CLD_EXITED and so on, as systemctl shows them -> `$EXIT_CODE`."""


@dataclass(frozen=True)
class UnitState:
    """One look at a unit."""

    unit: str
    active: str
    """ActiveState; empty: systemd did not answer."""
    sub: str
    result: str
    restarts: int
    invocation: str
    """Of its last start, which may go on."""
    fragment: str
    """Path of its file."""
    env_files: tuple[str, ...]
    began: bool
    """Its main process was started."""
    code: str
    status: str
    started: float | None
    """Seconds since 1970; of the main process, else of what runs before it."""
    ended: float | None
    """None: the main process runs, or never did."""

    @property
    def runs(self) -> bool:
        """Whether a start of it goes on, however far."""
        starts = self.active == "activating" and self.sub != "auto-restart"
        return starts or self.active in ("active", "reloading")

    def death(self) -> Death:
        """Its end as systemctl tells it, for whom systemd has not called."""
        return Death(
            unit=self.unit,
            result=self.result,
            code=self.code if self.began else "",
            status=self.status if self.began else "",
            started=self.started,
            ended=None if self.runs else self.ended,
            restarts=self.restarts,
        )


def look(unit: str) -> UnitState:
    """Now; with an empty `active` if systemd does not answer."""
    try:
        shown = answer(["systemctl", "show", "-p", _PROPERTIES, "--", unit])
    except Failed:
        shown = ""
    return parsed(unit, shown, time.time() - time.monotonic())


def parsed(unit: str, shown: str, boot: float) -> UnitState:
    """`shown` are lines of `Key=value`; `boot` is when the monotonic clock began."""
    one = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    code = _CODES.get(one.get("ExecMainCode", ""), "")

    def stamp(key: str) -> float | None:
        micro = one.get(f"{key}TimestampMonotonic", "")
        return boot + int(micro) / 1e6 if micro.strip("0").isdigit() else None

    files = [line.split("=", 1)[1] for line in shown.splitlines() if line.startswith("Environ")]
    return UnitState(
        unit=unit,
        active=one.get("ActiveState", ""),
        sub=one.get("SubState", ""),
        result=one.get("Result", ""),
        restarts=int(one.get("NRestarts") or 0),
        invocation=one.get("InvocationID", ""),
        fragment=one.get("FragmentPath", ""),
        env_files=tuple(file.rpartition(" (")[0] for file in files),
        began=one.get("ExecMainPID", "0") != "0",
        code=code,
        status=_status(code, one.get("ExecMainStatus", "")),
        started=stamp("ExecMainStart") or stamp("InactiveExit"),
        ended=stamp("ExecMainExit"),
    )


def ours() -> list[str]:
    """Every unit of ours that systemd knows or could load, and of which there can be reports."""
    found = set()
    for verb in ("list-units --all", "list-unit-files"):
        words = ["systemctl", *verb.split(), "--plain", "--no-legend", "--full", "sglang*.service"]
        try:
            found |= {line.split()[0] for line in answer(words).splitlines() if line.strip()}
        except Failed:
            continue
    return sorted(name for name in found if _OURS.match(name) and reports.is_service(name))


def _status(code: str, number: str) -> str:
    """As `$EXIT_STATUS`: a signal by its name."""
    if code in ("killed", "dumped") and number.isdigit():
        return _signal_name(int(number))
    return number


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name[3:]
    except ValueError:
        return str(number)
