"""Models that units of ours copied into memory."""

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.serving import layout

_STAGES = r"""
for file in "$1"/sglang-stage-*.service; do
    [ -f "$file" ] || continue
    echo "${file##*/} $(sed -n 's/^Destination=//p' "$file")"
done
true
"""


class Stages(FactBase[dict[str, str]]):
    """Staging unit -> the directory it fills. None: `{}`. Source: the units' own files."""

    @staticmethod
    def default() -> dict[str, str]:
        return {}

    def command(self) -> StringCommand:
        return StringCommand("sh", "-c", QuoteString(_STAGES), "sh", str(layout.UNITS))

    def process(self, output: list[str]) -> dict[str, str]:
        return dict(line.split(" ", 1) for line in output)
