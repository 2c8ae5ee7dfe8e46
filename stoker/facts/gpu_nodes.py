"""What a node's GPUs lack before they can be passed to containers: modules and device nodes."""

from pathlib import Path

from pyinfra.api import FactBase, QuoteString, StringCommand

SCRIPT = (Path(__file__).parent / "on_node" / "gpu_nodes.sh").read_text(encoding="utf-8")
_PATIENCE_S = 30
_PREFIX = "cannot pass every GPU to containers: "


class GpuNodesLacking(FactBase[str | None]):
    """What lacks, in words; empty: nothing; None: the node has no GPU but those of VMs. Source:
    `on_node/gpu_nodes.sh check`, which the boot unit is made of; it changes nothing."""

    def command(self) -> StringCommand:
        script = StringCommand("sh", "-c", QuoteString(SCRIPT), "sh", "check")
        return StringCommand("timeout", "-k", "5", str(_PATIENCE_S), script, "2>&1; echo ended $?")

    def process(self, output: list[str]) -> str | None:
        told = [line for line in output if line.startswith(_PREFIX)]
        if told:
            return told[-1].removeprefix(_PREFIX).rpartition("; then: ")[0]
        code = output[-1].rpartition(" ")[2] if output else ""
        return {"0": "", "3": None}.get(code, "no answer within the time, see dmesg | grep NVRM")
