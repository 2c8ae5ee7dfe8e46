"""The planned containers of the sandbox $BENCH_SANDBOX, each with one GPU of its node.

With BENCH_DECLARED=no they are the same hosts without the data `container`.
"""

import os as _os

from stoker.sandbox import inventory as _inventory

_groups = _inventory.groups(_os.environ["BENCH_SANDBOX"])
for _number, (_name, _data) in enumerate(_groups.inference):
    _data["flagsets"] = ["bench"]
    _wanted = _data.pop("container")
    _wanted["gpus"] = [_wanted["gpus"][_number]]
    if _os.environ.get("BENCH_DECLARED") != "no":
        _data["container"] = _wanted

pve = _groups.pve
inference = _groups.inference
