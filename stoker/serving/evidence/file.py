"""The evidence file of a flag set: `group_data/flagsets/evidence/<name>.yaml`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from stoker.refused import Refused
from stoker.serving import document
from stoker.serving.evidence.record import Record

DIRECTORY = "evidence"
"""Beside the flag sets."""
MOST = 10
"""Records that are kept of one flag set."""
_HEAD = """\
# Written by a run, never by hand: what was measured of this flag set, the newest first. To have it
# measured anew, deploy it with --data candidate=yes.
"""
_KEYS = ("flagset", "records")


def path_of(flagsets: Path, name: str) -> Path:
    """Where the evidence of this flag set lies; `flagsets`: the directory of the flag sets."""
    return flagsets / DIRECTORY / f"{name}.yaml"


def load(flagsets: Path, name: str) -> tuple[Record, ...]:
    """The records of this flag set, newest first; none where there is no file.

    Raises `Refused` with every problem, by file and key.
    """
    path = path_of(flagsets, name)
    if not path.exists():
        return ()
    data, problems = document.read_file(path)
    records: list[Record] = []
    if data is not None:
        problems = [*problems, *_outer(data, name)]
        for index, one in enumerate(_listed(data)):
            record, found = _record(one)
            problems += [f"records.{index}.{problem}" for problem in found]
            records += [record] if record else []
    if problems:
        told = [f"{path}: {problem}" for problem in problems]
        raise Refused(
            "\n".join(["cannot use evidence; remove the file to have it measured anew:", *told])
        )
    return tuple(records)


def merged(records: Sequence[Record], new: Record) -> tuple[Record, ...]:
    """With the new one first, in the place of any of its fingerprint; the oldest drop out."""
    kept = [one for one in records if one.fingerprint != new.fingerprint]
    return (new, *kept)[:MOST]


def text_of(name: str, records: Sequence[Record]) -> str:
    """The whole file. The same records make the same text."""
    data = {"flagset": name, "records": [_plain(record) for record in records]}
    return _HEAD + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000)


def _plain(record: Record) -> dict[str, Any]:
    told = json.loads(json.dumps(asdict(record), default=lambda date: date.isoformat()))
    told["fingerprint"] = {"digest": record.fingerprint.digest, **told["fingerprint"]}
    return dict(told)


def _outer(data: dict[str, Any], name: str) -> Iterator[str]:
    for key in data.keys() - set(_KEYS):
        yield f"{key}: unknown key; known: {', '.join(_KEYS)}"
    if data.get("flagset") != name:
        yield f"flagset: is {data.get('flagset')!r}, the file says {name!r}; make them one"
    if not isinstance(data.get("records"), list):
        yield "records: is no list"


def _listed(data: dict[str, Any]) -> list[Any]:
    records = data.get("records")
    return records if isinstance(records, list) else []


def _record(data: Any) -> tuple[Record | None, list[str]]:
    parts = data.get("fingerprint") if isinstance(data, dict) else None
    if not isinstance(parts, dict):
        return None, ["fingerprint: is missing"]
    data = {**data, "fingerprint": {k: v for k, v in parts.items() if k != "digest"}}
    try:
        # By way of JSON, so that strict mode still takes a list for a tuple and text for a date.
        record = _adapter().validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        return None, [_sentence(one) for one in error.errors()]
    if record.date.tzinfo is None:
        return None, ["date: has no time zone"]
    if record.fingerprint.digest != parts.get("digest"):
        return None, ["fingerprint.digest: is not of these parts; it was edited by hand"]
    return record, []


@cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


def _sentence(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    return f"{place}: {error['msg'].removeprefix('Value error, ')}"
