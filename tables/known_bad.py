"""Make the stored known-bad rows of their YAML: `python -m tables.known_bad [--check]`."""

import sys
from dataclasses import replace
from pathlib import Path

from stoker.refused import Refused
from stoker.serving.rules import loading, stored

DATA = Path(loading.__file__).parent / "data"


def main(words: list[str]) -> int:
    """Writes the rows, or with `--check` only says whether they are fresh; 2: they are wrong."""
    try:
        rows = loading.file_of(DATA / "known_bad.yaml")
    except Refused as error:
        print(error, file=sys.stderr)
        return 2
    text, path = stored.dumped(replace(row, origin="") for row in rows), DATA / "known_bad.json"
    if words != ["--check"]:
        path.write_text(text, encoding="utf-8")
    elif not path.is_file() or path.read_text(encoding="utf-8") != text:
        print(f"{path.name} is older than its rows; run `make tables`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
