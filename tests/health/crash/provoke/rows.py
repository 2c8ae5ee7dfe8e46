"""The table of the recordings: what a machine can fill in; what each failure is, a person does."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import yaml

from tests.health.crash.provoke import keep, scenarios
from tests.health.crash.provoke.scenario import Scenario

_HEAD = "# What each recording is, and how it was made; see README.md.\n"
_WHOLE = ("healthy_stop",)


def put(name: str, out: Path, recorded: Path) -> None:
    """Keep the log of that scenario in `recorded`/VERSION, and its row in `recorded`."""
    version = out.parent.name
    seen = json.loads((out / f"{name}.json").read_text())
    text, cut = keep.kept((out / f"{name}.raw").read_bytes(), name in _WHOLE)
    file = f"{version}/{name}.log"
    (recorded / version).mkdir(exist_ok=True)
    (recorded / file).write_bytes(text)
    table = recorded / "expected.yaml"
    rows = {row["file"]: row for row in yaml.safe_load(table.read_text()) or []}
    rows[file] = row_of(file, seen, cut, text, rows.get(file, {}))
    if (out / f"{name}.dmesg").exists():
        (recorded / f"{version}/{name}.dmesg").write_bytes((out / f"{name}.dmesg").read_bytes())
        rows[file]["dmesg"] = f"{version}/{name}.dmesg"
    dumped = yaml.safe_dump(list(rows.values()), sort_keys=False, allow_unicode=True, width=120)
    table.write_text(_HEAD + dumped)


def row_of(
    file: str, seen: dict[str, Any], cut: list[str], text: bytes, old: dict[str, Any]
) -> dict[str, Any]:
    """The row; what the failure is stays as somebody decided, and its line is found anew."""
    name = Path(file).stem
    decided = {key: old.get(key) for key in ("class", "phase", "line")}
    row = {"file": file, "how": told(scenarios.ALL[name], seen), "status": status(seen["status"])}
    row |= decided | old | {"how": row["how"], "status": row["status"]}
    row.pop("cut", None)
    if old.get("text"):
        lines = text.split(b"\n")
        row["line"] = next((n for n, x in enumerate(lines, 1) if old["text"].encode() in x), None)
    return row | ({"cut": ", ".join(cut)} if cut else {})


def status(code: int | None) -> int | str | None:
    """As systemd has it: a number, or a signal's name."""
    return signal.Signals(-code).name if code is not None and code < 0 else code


def told(row: Scenario, seen: dict[str, Any]) -> str:
    """How the start differed from a good one, and what was done to it."""
    parts = [] if row.words is None else [" ".join(row.words)]
    for flag, value in row.flags.items():
        parts.append(f"without {flag}" if value == "-" else f"{flag} {value or ''}".strip())
    parts += [
        f"{key} unset" if value is None else f"{key}={value}" for key, value in row.env.items()
    ]
    parts.append(" ".join((row.prepare.__doc__ or "").split()).rstrip("."))
    parts.append(seen["acted"])
    return "; ".join(part for part in parts if part) or "nothing"
