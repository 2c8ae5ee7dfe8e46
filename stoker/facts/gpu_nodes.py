"""What a node's GPUs lack before they can be passed to containers: modules and device nodes."""

from pathlib import Path

from pyinfra.api import FactBase, QuoteString, StringCommand

SCRIPT = (Path(__file__).parent / "on_node" / "gpu_nodes.sh").read_text(encoding="utf-8")
_PATIENCE_S = 30
_PREFIX = "cannot pass every GPU to containers: "


class GpuNodesLacking(FactBase[str]):
    """What lacks, in words; empty: nothing. Source: `on_node/gpu_nodes.sh check`, which the boot
    unit is made of; it changes nothing."""

    @staticmethod
    def default() -> str:
        return ""

    def command(self) -> StringCommand:
        script = StringCommand("sh", "-c", QuoteString(SCRIPT), "sh", "check")
        return StringCommand("timeout", "-k", "5", str(_PATIENCE_S), script, "2>&1", "|| true")

    def process(self, output: list[str]) -> str:
        told = [line for line in output if line.startswith(_PREFIX)]
        return told[-1].removeprefix(_PREFIX).rpartition("; then: ")[0] if told else ""
