"""A zip file's bytes: the same for the same contents, wherever and whenever they are made."""

import io
import zipfile
from collections.abc import Iterable


def zipped(files: Iterable[tuple[str, bytes]], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Of (name, data) pairs in any order."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, data in sorted(files):
            entry = zipfile.ZipInfo(name)  # 1980: when it was made is nobody's business
            entry.compress_type = compression
            entry.external_attr = 0o644 << 16
            file.writestr(entry, data, compresslevel=9)
    return made.getvalue()
