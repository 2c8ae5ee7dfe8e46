"""TCP ports: a server's own, and those of the others in the same container."""

from collections.abc import Iterator

from stoker.serving.checking.question import Question
from stoker.serving.checking.reason import Reason
from stoker.serving.fitting import ranks

HIGHEST = 65535
_DERIVED = 233
_OF_ATTENTION = ("rendezvous", "tokenizer", "detokenizer", "RPC", "metrics", "scheduler")
"""With DP attention the processes of a server talk over TCP, on ports from --port + 233 on, or
from the port of --dist-init-addr (0.5.12 server_args.py:7815, 0.5.23 server_args.py:818)."""


def check(question: Question) -> Iterator[Reason]:
    """port_clash inside the server and with each other one; flag_bad_value past the last port."""
    wanted = list(of(question))
    yield from _impossible(wanted)
    yield from _own(wanted)
    yield from _engines(question)
    names = dict(reversed(wanted))
    for other in question.others:
        for port in sorted(set(names) & set(other.ports)):
            yield Reason(
                "port_clash",
                "refuse",
                f"port {port} ({names[port]}) is wanted by {other.name} too",
                "give each server ports of its own",
            )


def of(question: Question) -> Iterator[tuple[int, str]]:
    """(port, what for) of every port that it binds and that can be told beforehand.

    Without --nccl-port SGLang takes one that is free.
    """
    get = question.parsed.get
    http = get("port", 30000)
    yield http, "HTTP"
    rendezvous = _port_of(get("dist_init_addr"))
    if rendezvous:
        yield rendezvous, "dist-init-addr"
    elif get("nccl_port"):
        yield get("nccl_port"), "torch.distributed"
    if ranks.of(question.parsed).attention_dp > 1:
        base = rendezvous or (http + _DERIVED if http + _DERIVED <= HIGHEST else http - _DERIVED)
        named = list(enumerate(_OF_ATTENTION))[1 if rendezvous else 0 :]
        yield from ((base + n, f"{name} of DP attention") for n, name in named)
    if get("disaggregation_mode") == "prefill":
        yield get("disaggregation_bootstrap_port", 8998), "disaggregation bootstrap"
    if grpc := get("grpc_port") or question.env.get("SGLANG_GRPC_PORT"):
        yield from ((int(grpc), "gRPC"),) if str(grpc).isdigit() else ()


def _port_of(address: str | None) -> int | None:
    port = str(address or "").rpartition(":")[2]
    return int(port) if port.isdigit() else None


def _impossible(wanted: list[tuple[int, str]]) -> Iterator[Reason]:
    for port, what in wanted:
        if not 0 < port <= HIGHEST:
            yield Reason(
                "flag_bad_value",
                "refuse",
                f"port {port} ({what}) is none: ports go from 1 to {HIGHEST}",
                "choose another port",
            )


def _own(wanted: list[tuple[int, str]]) -> Iterator[Reason]:
    seen: dict[int, str] = {}
    for port, what in wanted:
        if port in seen:
            yield Reason(
                "port_clash",
                "refuse",
                f"port {port} is wanted twice by the server itself ({seen[port]} and {what})",
                "choose another port for one of them",
            )
        seen.setdefault(port, what)


def _engines(question: Question) -> Iterator[Reason]:
    """Each engine of `--dp-size` would listen on the same --nccl-port (0.5.12, 0.5.23
    managers/data_parallel_controller.py, launch_dp_schedulers)."""
    port, engines = question.parsed.get("nccl_port"), ranks.of(question.parsed).replicas
    if port and engines > 1:
        yield Reason(
            "port_clash",
            "refuse",
            f"port {port} (torch.distributed) is wanted by each of {engines} engines of --dp-size",
            "run one server a GPU, or leave out --nccl-port",
        )
