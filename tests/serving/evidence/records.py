"""Fingerprints and records for tests."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from stoker.serving.evidence.fingerprint import Fingerprint
from stoker.serving.evidence.record import Figures, Ran, Record

BURST = "1 of 8152, 23 of 8152 and 104 of 64 tokens at once, each for 32 more"


def fingerprint(**changed: Any) -> Fingerprint:
    """Of a server with everything known, on one GPU, with these parts changed."""
    known = Fingerprint(
        sglang="0.5.12",
        torch="2.11.0+cu130",
        cuda="13.0",
        driver="580.95.05",
        gpu="NVIDIA RTX PRO 6000 Blackwell Server Edition",
        gpus=1,
        model="ab" * 32,
        draft="none",
        flags=("--attention-backend flashinfer", "--mem-fraction-static 0.88"),
        env=("NCCL_P2P_LEVEL=PHB",),
    )
    return replace(known, **changed)


def record(
    tokens_per_s: float = 1867.0, throughput: float | None = 1350.0, **changed: Any
) -> Record:
    """Evidence with these throughputs; the other keys are `Record`'s."""
    fields: dict[str, Any] = {
        "date": datetime(2026, 11, 29, 12, 0, tzinfo=UTC),
        "machine": "gpu-a, sglang@0.service",
        "fingerprint": fingerprint(),
        "figures": Figures(
            tokens_per_s=tokens_per_s,
            throughput=throughput,
            ttft_ms=54.0,
            tpot_ms=5.4,
            low_water_gib=3.25,
            max_total_num_tokens=116171,
            predicted_tokens=116000,
        ),
        "ran": Ran(BURST, "bench_serving, so and so"),
        "log": ("[2026-11-29 12:00:00] The server is fired up and ready to roll!",),
    }
    return Record(**{**fields, **changed})
