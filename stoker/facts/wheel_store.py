"""The wheels that a directory holds, and the room beside them."""

from dataclasses import dataclass, field

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.serving import layout

_READ = """
dir=$1
[ -d "$dir" ] && find "$dir" -maxdepth 1 -name '*.whl' -printf '%s %f\\n'
while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
echo free "$(df -B1 --output=avail "$dir" | tail -n 1)"
"""


@dataclass(frozen=True)
class Store:
    """Sizes in bytes by file name, and the free bytes of that file system."""

    sizes: dict[str, int] = field(default_factory=dict)
    free_bytes: int | None = None
    """None: it was not read."""


class WheelStore(FactBase[Store]):
    """The wheel store of a node, or of a container that has it mounted; empty where there is none.

    A file is there under its name only after its hash was checked, so name and size are enough.
    """

    def command(self) -> StringCommand:
        return StringCommand("sh", "-c", QuoteString(_READ), "sh", QuoteString(str(layout.WHEELS)))

    @staticmethod
    def default() -> Store:
        return Store()

    def process(self, output: list[str]) -> Store:
        rows = [line.split(" ", 1) for line in output]
        sizes = {name: int(size) for size, name in rows if size != "free"}
        free = [int(value) for key, value in rows if key == "free"]
        return Store(sizes, free[0])
