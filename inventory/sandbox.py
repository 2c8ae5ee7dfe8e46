"""The sandbox on this machine, as `python -m stoker.sandbox up` left it.

The environment variable STOKER_SANDBOX names another instance than `demo`.
"""

import os

from stoker.sandbox import inventory as _inventory

_groups = _inventory.groups(os.environ.get("STOKER_SANDBOX", "demo"))

pve = _groups.pve
inference = _groups.inference
