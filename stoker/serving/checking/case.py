"""A case: one server's words and all facts in one file, for a check without any host."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from stoker.serving.checking.asking import Facts, question
from stoker.serving.checking.model import Linear, Model
from stoker.serving.checking.question import Gpus, Host, OtherServer, Question
from stoker.serving.checking.reading import Reading
from stoker.serving.weights.files import Draft, Files

FACTS = ("gpu", "host", "model", "draft", "files", "other_servers", "software")
KEYS = ("sglang", "flags", "env", "waivers", *FACTS)
_MAY_BE_0 = "full_attention_layers"
_PORTS = ("port", "nccl_port")


def is_case(data: Any) -> bool:
    """Whether it is one and no flag set: its flags are words, or it brings facts along."""
    return isinstance(data, dict) and (
        isinstance(data.get("flags"), list) or ("gpu" in data and "placement" not in data)
    )


def asked(name: str, data: Mapping[str, Any], reading: Reading) -> Question:
    """The question of a case, of which every value is text; what is wrong goes to `reading`."""
    version = data.get("sglang")
    if not isinstance(version, str) or not version:
        reading.problems.append("sglang: is missing; write the version, such as 0.5.12")
        version = ""
    reading.unknown += [key for key in data if key not in KEYS]
    env = _texts(data.get("env"), "env", reading)
    words = reading.words(data.get("flags"), "flags")
    visible = env.get("CUDA_VISIBLE_DEVICES")
    return question(
        name,
        version,
        words,
        env,
        facts(data, reading),
        visible=None if visible is None else len([gpu for gpu in visible.split(",") if gpu]),
    )


def facts(data: Mapping[str, Any], reading: Reading) -> Facts:
    """The sections of facts, of a case or of a file of nothing else."""
    given = data.get("model")
    return Facts(
        gpus=reading.record(Gpus, data.get("gpu"), "gpu"),
        host=reading.record(Host, data.get("host"), "host"),
        model=None if given is None else _model(given, "model", reading),
        draft=_draft(data.get("draft"), reading),
        files=_files(data.get("files"), "files", reading),
        others=tuple(_others(data.get("other_servers"), reading)),
        software=_texts(data.get("software"), "software", reading),
    )


def waivers(data: Mapping[str, Any], reading: Reading) -> dict[str, str]:
    """Known-bad rows that do not count there, each with its reason."""
    return _texts(data.get("waivers"), "waivers", reading)


def _texts(value: Any, place: str, reading: Reading) -> dict[str, str]:
    found = reading.mapping(value, place)
    wrong = [key for key, one in found.items() if not isinstance(one, str)]
    reading.problems += [f"{place}.{key}: is no text; quote it" for key in wrong]
    return {key: one for key, one in found.items() if key not in wrong}


def _model(value: Any, place: str, reading: Reading) -> Model:
    model = reading.record(Model, value, place)
    linear = value.get("linear") if isinstance(value, dict) else None
    if linear is not None:
        model = replace(model, linear=_linear(linear, f"{place}.linear", reading))
    # No model has 0 of them: a file that says so means that it has none, or that nobody knows.
    none: dict[str, Any] = {
        one.name: None
        for one in fields(model)
        if (value := getattr(model, one.name)) == 0 and value is not False and one.name != _MAY_BE_0
    }
    return replace(model, **none)


def _linear(value: Any, place: str, reading: Reading) -> Linear | None:
    try:
        return reading.record(Linear, value, place)
    except TypeError:
        reading.problems.append(f"{place}: needs layers, conv_elements and state_elements")
        return None


def _files(value: Any, place: str, reading: Reading) -> Files | None:
    return None if value is None else reading.record(Files, value, place)


@dataclass(frozen=True)
class _Said:
    """What a draft's config says beside its model."""

    target_hidden: int | None = None
    aux_layers: int | None = None
    vocabulary: int | None = None
    shares_head: bool | None = None


def _draft(value: Any, reading: Reading) -> Draft | None:
    """Its model, its files, the names of its tensors, and what its config says of its target."""
    found = reading.mapping(value, "draft")
    if not found:
        return None
    said = reading.record(_Said, value, "draft", "model", "files", "keys")
    model = found.get("model")
    return Draft(
        files=_files(found.get("files"), "draft.files", reading) or Files(),
        model=None if model is None else _model(model, "draft.model", reading),
        keys=reading.words(found["keys"], "draft.keys") if "keys" in found else (),
        target_hidden=said.target_hidden,
        aux_layers=said.aux_layers,
        vocabulary=said.vocabulary,
        shares_head=bool(said.shares_head),
    )


def _others(value: Any, reading: Reading) -> list[OtherServer]:
    if not isinstance(value, list | None):
        reading.problems.append("other_servers: is no list of servers")
        return []
    return [_other(f"other_servers.{n}", one, reading) for n, one in enumerate(value or (), 1)]


def _other(place: str, value: Any, reading: Reading) -> OtherServer:
    named = {"name": place, **reading.mapping(value, place)}
    ports = [named[key] for key in _PORTS if named.get(key) is not None]
    given = named.get("ports")
    ports += given if isinstance(given, list) else []
    return reading.record(OtherServer, {**named, "ports": ports}, place, *_PORTS)
