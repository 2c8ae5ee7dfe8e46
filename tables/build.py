"""Make the tables of `stoker/health` from their rows: `python -m tables.build [--check]`.

Rows are YAML, which a Proxmox host's bare python3 cannot read: what it reads is one JSON file. The
rows are checked here, once, by name of file and key. The runbook's part on the classes is
made of the same rows.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from stoker.health.crash import page
from tables import crash_rows, known_bad

ROOT = Path(__file__).parent.parent
HEALTH = ROOT / "stoker" / "health"
RUNBOOK = ROOT / "docs" / "runbook.md"
PLACES = (HEALTH / "data", HEALTH / "crash" / "data")
"""Each holds its rows, and the one file made of them."""
BUILT = "tables.json"
CEILINGS = {"info", "app", "reset", "reboot", "human"}

# Table -> the keys of its rows, all wanted, with their kinds.
SCHEMAS: dict[str, dict[str, type]] = {
    "xids": {
        "number": int,
        "title": str,
        "nvidia": str,
        "ceiling": str,
        "note": str,
        "source": str,
    },
    "recovery_actions": {
        "number": int,
        "smi": str,
        "meaning": str,
        "ceiling": str,
        "source": str,
    },
}

# Table -> what is wrong with its rows, where a schema of flat rows cannot say it.
CHECKS: dict[str, Callable[[Any], Iterator[str]]] = {
    "crash_classes": crash_rows.problems_of_classes,
    "crash_causes": crash_rows.problems_of_causes,
}


def main(words: list[str]) -> int:
    """Writes the tables, or with `--check` only says whether they are fresh."""
    check = words == ["--check"]
    built = max(build(place, check) for place in PLACES) or known_bad.main(words)
    return built or renew(RUNBOOK, check)


def build(place: Path, check: bool) -> int:
    """One place's tables; 1: older than their rows, 2: the rows are wrong."""
    tables, problems = read(place)
    if problems:
        print("cannot build the tables; correct these rows:", *problems, sep="\n", file=sys.stderr)
        return 2
    text, path = rendered(tables), place / BUILT
    if check:
        if path.is_file() and path.read_text() == text:
            return 0
        print(f"{path.name} is older than its rows; run `make tables`", file=sys.stderr)
        return 1
    path.write_text(text)
    return 0


def renew(path: Path, check: bool) -> int:
    """The part of the runbook that is made of the classes; 1: it is older than their rows."""
    text = path.read_text()
    if page.renewed(text) == text:
        return 0
    if check:
        print(f"{path.name} is older than its rows; run `make tables`", file=sys.stderr)
        return 1
    path.write_text(page.renewed(text))
    return 0


def rendered(tables: dict[str, Any]) -> str:
    """The JSON text, a row a line so that a change reads as one."""
    parts = []
    for name in sorted(tables):
        rows = ",\n".join(f"  {json.dumps(row, sort_keys=True)}" for row in tables[name])
        parts.append(f"{json.dumps(name)}: [\n{rows}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read(directory: Path) -> tuple[dict[str, Any], list[str]]:
    """All tables of the directory, and every problem of every row."""
    tables, problems = {}, []
    for path in sorted(directory.glob("*.yaml")):
        schema = SCHEMAS.get(path.stem)
        check = CHECKS.get(path.stem)
        if schema is None and check is None:
            problems.append(f"{path.name}: there is no such table; describe its rows in {__file__}")
            continue
        rows = yaml.safe_load(path.read_text())
        found = check(rows) if check else problems_of(rows, schema or {})
        problems += [f"{path.name}: {problem}" for problem in found]
        tables[path.stem] = rows
    return tables, problems


def problems_of(rows: Any, schema: dict[str, type]) -> Iterator[str]:
    """What is wrong with the rows of one table, each with its place and key."""
    if not isinstance(rows, list):
        yield "is no list of rows"
        return
    seen = set()
    for place, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            yield f"row {place}: is no mapping"
            continue
        for key in sorted(map(str, row.keys() - schema.keys())):
            yield f"row {place}: {key}: unknown key; known: {', '.join(schema)}"
        for key, kind in schema.items():
            if type(row.get(key)) is not kind:
                yield f"row {place}: {key}: is {row.get(key)!r}, wants {kind.__name__}"
        if row.get("ceiling") not in CEILINGS | {None}:
            yield f"row {place}: ceiling: is {row['ceiling']!r}, wants one of {sorted(CEILINGS)}"
        if row.get("source") == "":
            yield f"row {place}: source: is empty; say where it is from"
        if row.get("number") in seen:
            yield f"row {place}: number: {row['number']} is there twice"
        seen.add(row.get("number"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
