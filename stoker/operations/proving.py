"""A server that has given its token is proved: by a prefill burst, and by SGLang's own measure."""

import secrets
from dataclasses import replace
from typing import Any

from stoker.facts.start_log import StartLog
from stoker.operations.under_test import Lease, UnderTest, under_test
from stoker.serving.evidence import bench, burst, comparing
from stoker.serving.evidence.checked import Checked
from stoker.serving.evidence.excerpt import excerpt
from stoker.serving.evidence.record import Figures, Proof, Ran
from stoker.serving.memory import comparing as predicted
from stoker.serving.memory import logged
from stoker.serving.unit import Unit

ASK_S = 70


def prove(host: Any, unit: Unit, checked: Checked, full: bool, lease: Lease) -> Proof:
    """Put the running server under its worst load, and measure it.

    + full: evidence is wanted: bench_serving runs too. Else the burst alone, compared with the
      evidence that there is

    Raises `OperationError` in one sentence with the figures: it died, restarted, gives no token
    any more, left too little memory, fell far below its evidence, or its draft guesses nothing.
    """
    server = under_test(host, unit, checked, lease)
    limits = _limits(server)
    figures, ran = _burst(server, limits, twice=full)
    last = checked.record
    if last and (why := comparing.incomparable(last, checked.fingerprint, figures, ran)):
        server.say(f"its throughput is compared with nothing: {why}")
    # What is wrong already need not be measured in full.
    _judge(server, figures, ran)
    if full:
        figures, ran = _bench(server, limits, figures, ran)
        _judge(server, figures, ran)
    server.answers()
    lines = host.get_fact(StartLog, invocation=server.first.invocation)
    if checked.prediction is not None:
        server.say(predicted.line(checked.prediction, logged.read(lines)))
    return Proof(figures, ran, tuple(server.hidden(line) for line in excerpt(lines)))


def _limits(server: UnderTest) -> burst.Limits:
    said = _asked(server, burst.Burst((), 0, ASK_S), "question for its limits")
    return burst.told(burst.limits_of(server.checked.parsed), said["info"])


def _burst(server: UnderTest, limits: burst.Limits, twice: bool) -> tuple[Figures, Ran]:
    """The better of two where a first one may still have compiled kernels, or fell."""
    sized = burst.burst(limits)
    ran = Ran(sized.words)
    figures = _measured(server, sized)
    if twice or _falls(server, figures, ran):
        both = (figures, _measured(server, sized))
        low = [one.low_water_gib for one in both if one.low_water_gib is not None]
        best = max(both, key=lambda one: one.tokens_per_s or 0)
        figures = replace(best, low_water_gib=min(low, default=None))
    return figures, ran


def _measured(server: UnderTest, sized: burst.Burst) -> Figures:
    said = _asked(server, sized, "prefill burst")
    info, low = said["info"], said["low_water_gib"]
    tokens = said["prompt_tokens"] + said["generated_tokens"]
    figures = Figures(
        tokens_per_s=round(tokens / max(said["seconds"], 0.001), 1),
        accept_length=_rounded(info["accept_length"]),
        low_water_gib=_rounded(low),
        waited=_rounded(said["waited"]),
        max_total_num_tokens=info["pool"],
        predicted_tokens=server.checked.predicted_tokens,
    )
    left = "" if low is None else f", at the least {low:.2f} GiB left"
    server.say(f"prefill burst ({sized.words}): {figures.tokens_per_s:.0f} tokens/s{left}")
    return figures


def _asked(server: UnderTest, sized: burst.Burst, doing: str) -> dict[str, Any]:
    """What `inside/burst.py` told; raises if not everything was answered."""
    asked = {
        "gpus": server.unit.gpus,
        "model_path": server.checked.flagset.model.path,
        "prompts": sized.prompts,
        "generated": sized.generated,
    }
    said = server.told("burst", asked, sized.time_limit_s, doing)
    if error := said["error"]:
        answered = f"{said['answered']} of {sized.requests} answered" if "answered" in said else ""
        told = ", ".join(filter(None, (answered, server.hidden(error))))
        raise server.refused(f"the {doing} failed ({sized.words}): {told}; see its log")
    return said


def _bench(
    server: UnderTest, limits: burst.Limits, figures: Figures, ran: Ran
) -> tuple[Figures, Ran]:
    sized, flags = bench.bench(limits), server.checked.parsed
    model, chance = server.checked.flagset.model.path, secrets.randbelow(1 << 31)
    words = sized.words(model, flags.get("tokenizer_path"), chance)
    said = server.told("bench", {"words": words}, sized.time_limit_s, "measurement")
    found = said.get("figures") or {}
    if error := said["error"] or _incomplete(found, sized.prompts):
        last = next((line for line in reversed(said.get("lines") or []) if line.strip()), "none")
        told = server.hidden(f"{error}, its last line: {last.strip()}")
        raise server.refused(f"bench_serving measured nothing ({sized.told}): {told}; see its log")
    figures = replace(
        figures,
        throughput=_rounded(found["output_throughput"]),
        ttft_ms=_rounded(found["median_ttft_ms"]),
        tpot_ms=_rounded(found["median_tpot_ms"]),
        accept_length=_rounded(found["accept_length"]) or figures.accept_length,
        waited=_rounded(max(filter(None, (figures.waited, said["waited"])), default=None)),
    )
    server.say(
        f"{sized.told}: {figures.throughput} tokens/s, the first token after {figures.ttft_ms} ms, "
        f"each other after {figures.tpot_ms} ms"
    )
    return figures, replace(ran, bench=sized.told)


def _incomplete(found: dict[str, Any], wanted: int) -> str:
    done = found.get("completed")
    return "" if done == wanted else f"{done or 0} of {wanted} answered"


def _falls(server: UnderTest, figures: Figures, ran: Ran) -> tuple[str, ...]:
    last, now = server.checked.record, server.checked.fingerprint
    return comparing.falls(last, now, figures, ran) if last else ()


def _judge(server: UnderTest, figures: Figures, ran: Ran) -> None:
    wrong = [
        *comparing.faults(figures, server.checked.drafted),
        *_falls(server, figures, ran),
    ]
    if wrong:
        raise server.refused("; ".join(wrong))


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 2)
