"""Programs of ours that a container runs without a file of ours lying there."""

import re
from pathlib import Path

INSIDE = Path(__file__).parent / "inside"
_RUN = '\nif __name__ == "__main__":'
_NEIGHBOUR = re.compile(
    r"^from stoker\.serving\.inside\.(\w+) import (?:\([^)]*\)|[^(\n]*)\n", re.MULTILINE
)


def program(name: str) -> str:
    """The text of `inside/<name>.py` for `python -I -c`, which knows no package of ours: what it
    imports of its neighbours stands in it, without what they do when they are run themselves."""
    text = (INSIDE / f"{name}.py").read_text(encoding="utf-8")
    return _NEIGHBOUR.sub(lambda found: program(found[1]).split(_RUN)[0] + "\n", text)
