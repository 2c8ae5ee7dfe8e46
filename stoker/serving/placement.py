"""Which units a flag set means on one machine: their names, ports, command lines, environment."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from stoker.refused import Refused
from stoker.serving import layout
from stoker.serving.flagset import FlagSet
from stoker.serving.staging import stage_of
from stoker.serving.unit import NCCL_OFFSET, Unit

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEY_NAMES = {"API_KEY": "STOKER_API_KEY", "ADMIN_API_KEY": "STOKER_ADMIN_API_KEY"}
"""A secret's name in the inventory -> in the unit's environment; others keep their name."""


def units_of(
    flagset: FlagSet,
    venv: PurePosixPath,
    cuda_home: PurePosixPath,
    user: str = "sglang",
    secrets: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Unit, ...]:
    """The units of a flag set: one a GPU (`sglang@<gpu>.service`), or the one `sglang.service`.

    `secrets`: unit name, with or without `.service`, -> its secrets; `*` is for every unit.
    """
    placement = flagset.placement
    servers: list[tuple[str, int, tuple[int, ...]]]
    if placement.layout == "one-per-gpu":
        servers = [(f"sglang@{gpu}.service", flagset.port + gpu, (gpu,)) for gpu in placement.gpus]
    else:
        servers = [("sglang.service", flagset.port, placement.gpus)]
    return tuple(
        Unit(
            name=name,
            flagset=flagset.name,
            description=f"SGLang {flagset.sglang}: {flagset.description or flagset.name}",
            sglang=flagset.sglang,
            model=flagset.served_name,
            host=flagset.host,
            port=port,
            gpus=gpus,
            argv=(str(venv / "bin" / "python"), str(layout.LAUNCHER), *_words(flagset, port)),
            environment=tuple(_environment(flagset, venv, cuda_home, gpus)),
            secrets=tuple(_secrets(name, secrets or {})),
            user=user,
            venv=venv,
            stage=stage_of(flagset),
        )
        for name, port, gpus in servers
    )


def places(ports: Iterable[int], gpus: Iterable[int]) -> tuple[str, ...]:
    """What only one server of a machine can have, in words."""
    return (*(f"port {port}" for port in ports), *(f"GPU {gpu}" for gpu in gpus))


def refuse_conflicts(units: Iterable[Unit]) -> None:
    """Two units of one machine may not want one name, one port or one GPU, nor two models one
    place in memory; raises `Refused`."""
    units = tuple(units)
    claims = [
        (claim, unit)
        for unit in units
        for claim in (unit.name, *places((unit.port, unit.nccl_port), unit.gpus))
    ]
    counted = Counter(claim for claim, _ in claims)
    problems = [
        f"{claim} is wanted by "
        + " and ".join(f"{u.name} of {u.flagset}" for c, u in claims if c == claim)
        for claim, times in counted.items()
        if times > 1
    ]
    copies: dict[str, dict[str, str]] = {}
    for stage in (unit.stage for unit in units if unit.stage):
        copies.setdefault(stage.destination, {})[stage.source] = stage.flagset
    problems += [
        f"{place} would be filled from " + " and ".join(f"{s} of {f}" for s, f in sources.items())
        for place, sources in copies.items()
        if len(sources) > 1
    ]
    if problems:
        raise Refused(
            "\n".join(["cannot place these flag sets on one machine; move one of each:", *problems])
        )


def _words(flagset: FlagSet, port: int) -> Iterator[str]:
    yield from ("--model-path", flagset.model.path)
    if flagset.model.served_name:
        yield from ("--served-model-name", flagset.model.served_name)
    yield from ("--host", flagset.host, "--port", str(port))
    yield from ("--nccl-port", str(port - NCCL_OFFSET))
    flags = dict(flagset.flags)
    if flagset.placement.layout == "tensor-parallel":
        flags.setdefault("tp-size", len(flagset.placement.gpus) // flags.get("pp-size", 1))
    # Sorted: the order of the file's lines is no difference between two servers.
    for name, value in sorted(flags.items()):
        yield f"--{name}"
        if isinstance(value, tuple):
            yield from map(str, value)
        elif value is not True:
            yield str(value)


def _environment(
    flagset: FlagSet, venv: PurePosixPath, cuda_home: PurePosixPath, gpus: tuple[int, ...]
) -> Iterator[tuple[str, str]]:
    cache = layout.kernel_cache(venv)
    yield "CUDA_HOME", str(cuda_home)
    yield "PATH", f"{venv}/bin:{cuda_home}/bin:{SYSTEM_PATH}"
    yield "CUDA_DEVICE_ORDER", "PCI_BUS_ID"
    # Set without a GPU too: else a server on the CPU would hold every GPU of the container.
    yield "CUDA_VISIBLE_DEVICES", ",".join(map(str, gpus))
    # HOME catches every cache that is named after it: deep_gemm, tvm-ffi, sglang, tilelang ...
    yield "HOME", str(cache)
    yield "XDG_CACHE_HOME", f"{cache}/.cache"
    yield "TRITON_CACHE_DIR", f"{cache}/triton"
    yield "TORCHINDUCTOR_CACHE_DIR", f"{cache}/torchinductor"
    yield "TORCH_EXTENSIONS_DIR", f"{cache}/torch_extensions"
    yield "FLASHINFER_WORKSPACE_BASE", str(cache)
    yield "CUDA_CACHE_PATH", f"{cache}/nv"
    # Downloads are no kernels: they outlive a version.
    yield "HF_HOME", f"{layout.SERVICE_HOME}/huggingface"
    yield "PYTHONUNBUFFERED", "1"
    yield from sorted(flagset.env.items())


def _secrets(unit: str, secrets: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    named = {**secrets.get("*", {})}
    named.update(secrets.get(unit.removesuffix(".service"), {}))
    named.update(secrets.get(unit, {}))
    for name, value in sorted(named.items()):
        yield KEY_NAMES.get(name, name), value
