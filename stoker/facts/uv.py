"""The uv that Stoker placed."""

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.serving import layout


class Uv(FactBase[int | None]):
    """Size in bytes of the executable uv of this version; None where it is not.

    It comes to its name only after its hash was checked, so the size is enough.
    """

    def command(self, version: str) -> StringCommand:
        path = str(layout.uv_path(version))
        return StringCommand(
            *("find", QuoteString(path), "-perm", "-0555", "-printf", QuoteString("%s\\n")),
            *("2>/dev/null", "||", "true"),
        )

    def process(self, output: list[str]) -> int | None:
        return int(output[0]) if output else None
