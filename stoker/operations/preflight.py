"""What is known of the flag sets of units that are about to change, before anything is touched."""

from collections.abc import Sequence
from typing import Any

from stoker.serving.catalogue import recorded
from stoker.serving.catalogue.parsing import parse
from stoker.serving.deployment import Deployment
from stoker.serving.evidence.checked import Checked
from stoker.serving.evidence.fingerprint import Fingerprint, env_of, flags_of
from stoker.serving.flagset import FlagSet
from stoker.serving.unit import Unit


def require(
    host: Any, deployment: Deployment, units: Sequence[Unit], candidate: bool
) -> dict[str, Checked]:
    """By flag set; raises OperationError with every reason if one of them may not be tried."""
    flagsets = {flagset.name: flagset for flagset, _ in deployment.flagsets}
    return {unit.flagset: _checked(flagsets[unit.flagset], unit) for unit in units}


def _checked(flagset: FlagSet, unit: Unit) -> Checked:
    words = unit.argv[2:]
    parsed, _ = parse(words, recorded.load(unit.sglang))
    nothing = dict.fromkeys(("sglang", "torch", "cuda", "driver", "gpu", "gpus", "model", "draft"))
    parts: dict[str, Any] = {**nothing, "flags": flags_of(words), "env": env_of(flagset.env)}
    return Checked(flagset, Fingerprint(**parts), "reported", parsed=parsed)
