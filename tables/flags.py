"""Records what the parser of an SGLang version knows: `make flags VERSION=0.5.23`.

The wheel comes from wherever this machine's pip gets its packages; it is read, never imported.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from stoker.serving.catalogue.extracting.extract import extracted, lines
from stoker.serving.catalogue.recorded import DATA

PYTHON = "3.11"
"""SGLang has a wheel a Python; its own source is the same in all."""
PLATFORM = "manylinux_2_34_x86_64"


def wheel(version: str, folder: Path) -> Path:
    """SGLang's wheel, in `folder`. Raises CalledProcessError with pip's words on the screen."""
    words = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    target = ["--python-version", PYTHON, "--platform", PLATFORM]
    subprocess.run([sys.executable, "-m", "pip", *words, *target, f"sglang=={version}"], check=True)
    return next(folder.glob("sglang-*.whl"))


def record(version: str) -> Path:
    """Write the catalogue of `version`; a file of it is whole or not there."""
    with tempfile.TemporaryDirectory() as folder:
        document = extracted(wheel(version, Path(folder)))
    path = DATA / f"{document['sglang']}.json"
    beside = path.with_suffix(".json.new")
    beside.write_text(lines(document))
    return beside.replace(path)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("cannot record: no version given; use make flags VERSION=0.5.23")
    for given in sys.argv[1:]:
        print(f"  {record(given)}")
