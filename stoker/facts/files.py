"""Many files at once: what they hold and who may read them."""

from dataclasses import dataclass

from pyinfra.api import FactBase, QuoteString, StringCommand

_FILES = r"""
for path; do
    [ -f "$path" ] && [ ! -L "$path" ] || continue
    sum=$(sha256sum < "$path")
    echo "${sum%% *} $(stat -c '%a %U:%G' "$path") $path"
done
true
"""


@dataclass(frozen=True)
class FileState:
    """A regular file as it lies there."""

    sha256: str
    mode: int
    owner: str
    """user:group"""


class FileStates(FactBase[dict[str, FileState]]):
    """Path -> `FileState`; a path that is no regular file is absent. Source: sha256sum, stat."""

    @staticmethod
    def default() -> dict[str, FileState]:
        return {}

    def command(self, paths: tuple[str, ...]) -> StringCommand:
        return StringCommand("sh", "-c", QuoteString(_FILES), "sh", *map(QuoteString, paths))

    def process(self, output: list[str]) -> dict[str, FileState]:
        rows = (line.split(" ", 3) for line in output)
        return {path: FileState(sha, int(mode, 8), owner) for sha, mode, owner, path in rows}
