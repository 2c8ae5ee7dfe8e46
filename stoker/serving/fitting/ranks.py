"""How many ranks a server has, and how they share the work."""

from dataclasses import dataclass

from stoker.serving.catalogue.parsed import Parsed


@dataclass(frozen=True)
class Ranks:
    """The sizes of its groups."""

    tp: int
    """Tensor-parallel ranks of one stage."""
    pp: int
    """Pipeline stages."""
    replicas: int
    """Whole engines side by side (`--dp-size` without DP attention)."""
    attention_dp: int
    """Groups inside the tensor-parallel ranks that each do attention for other requests."""
    attention_cp: int
    """Groups that share one request's context."""
    nodes: int
    """Machines that it is spread over."""

    @property
    def attention(self) -> int:
        """Ranks over which the attention heads are cut (0.5.12 layers/dp_attention.py:244)."""
        return max(1, self.tp // self.attention_dp // self.attention_cp)

    @property
    def here(self) -> int:
        """GPUs that it wants of one machine."""
        return self.replicas * max(1, self.tp * self.pp // self.nodes)


def of(parsed: Parsed) -> Ranks:
    """What the flags say; a size that is absent, or no positive number, is one."""
    dp, attention_dp = _size(parsed, "dp_size"), _size(parsed, "attn_dp_size")
    if parsed.get("enable_dp_attention") and attention_dp == 1:
        # The old spelling: --dp-size is then the size of the groups and adds no engines.
        dp, attention_dp = 1, dp
    return Ranks(
        tp=_size(parsed, "tp_size"),
        pp=_size(parsed, "pp_size"),
        replicas=dp,
        attention_dp=attention_dp,
        attention_cp=_size(parsed, "attn_cp_size"),
        nodes=_size(parsed, "nnodes"),
    )


def _size(parsed: Parsed, dest: str) -> int:
    value = parsed.get(dest)
    return value if type(value) is int and value > 0 else 1
