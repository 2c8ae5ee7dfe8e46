"""The extractor as words of a command line: nothing is put on the container's disk."""

import base64
import functools
import hashlib
import lzma
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_STORED

from stoker.zipped import zipped

STOKER = Path(__file__).parents[2]
PACKAGES = ("", "serving", "serving/catalogue", "serving/catalogue/extracting")
LONGEST_WORD = 128 * 1024
"""The kernel's limit of one word of a command line, in bytes (MAX_ARG_STRLEN)."""
# A file without a name, in memory: the zip importer opens it by its path.
_BOOT = """
import base64,lzma,os,sys
m=os.memfd_create('stoker')
with open(m,'wb',closefd=False)as f:f.write(lzma.decompress(base64.b85decode('%s')))
sys.path.insert(0,'/proc/self/fd/%%d'%%m)
from stoker.serving.catalogue.extracting.installed import main
sys.exit(main(sys.argv[1:]))
"""


@functools.cache
def program() -> str:
    """What `python -c` runs; its words are those of `extracting.installed`."""
    packed = lzma.compress(_archive(), preset=9 | lzma.PRESET_EXTREME)
    boot = _BOOT.strip("\n") % base64.b85encode(packed).decode("ascii")
    if len(boot) >= LONGEST_WORD:
        raise ValueError(f"the extractor has outgrown a command line: {len(boot)} bytes")
    return boot


@functools.cache
def digest() -> str:
    """SHA-256 of the extractor: another one, another digest."""
    return hashlib.sha256(_archive()).hexdigest()


def _archive() -> bytes:
    return zipped(_files(), ZIP_STORED)


def _files() -> Iterator[tuple[str, bytes]]:
    for package in PACKAGES:
        whole = package == PACKAGES[-1]
        for path in (STOKER / package).glob("*.py" if whole else "__init__.py"):
            yield f"stoker/{path.relative_to(STOKER).as_posix()}", path.read_bytes()
