"""`make memory`: every row of a memory.tsv beside what is predicted."""

import os
import sys
from pathlib import Path

from tests.serving.memory.rows import read
from tests.serving.memory.table import lines, results

SHARED = Path(os.environ.get("STOKER_SHARED", Path(__file__).parents[4] / "shared"))

if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED / "cases" / "memory.tsv"
    print("\n".join(lines(results(read(path)))))
