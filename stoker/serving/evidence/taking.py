"""The fingerprint of one unit on one machine."""

from collections.abc import Mapping

from stoker.serving.evidence.fingerprint import NONE, Fingerprint, env_of, flags_of
from stoker.serving.evidence.machine import Machine
from stoker.serving.unit import Unit


def fingerprint(
    unit: Unit,
    env: Mapping[str, str],
    machine: Machine | None,
    model: str | None,
    draft: str | None,
) -> Fingerprint:
    """All units of a flag set have the same one.

    + env: the flag set's own; what Stoker adds to it follows from the other parts
    + machine: None: nobody could look at it
    + model, draft: revisions; None: unknown. A server without a draft model: `NONE`
    """
    seen = machine or Machine()
    return Fingerprint(
        sglang=seen.sglang,
        torch=seen.torch,
        cuda=seen.cuda if machine is None or seen.torch is None else seen.cuda or NONE,
        driver=None if machine is None else seen.driver or NONE,
        gpu=None if machine is None else seen.kind_of(unit.gpus),
        gpus=len(unit.gpus),
        model=model,
        draft=draft,
        flags=flags_of(unit.argv[2:]),
        env=env_of(env),
    )
