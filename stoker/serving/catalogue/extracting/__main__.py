"""`python -m stoker.serving.catalogue.extracting PATH`: the catalogue of a wheel or a tree."""

import sys
from pathlib import Path

from stoker.serving.catalogue.extracting.extract import extracted, lines

if __name__ == "__main__":
    sys.stdout.write(lines(extracted(Path(sys.argv[1]))))
