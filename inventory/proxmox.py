"""Containers that Proxmox has tagged `stoker`, and their nodes: docs/inventory.md.

Which clusters is said in `proxmox.yaml` beside this file, or in the file that the environment
variable STOKER_PROXMOX names.
"""

import os
from pathlib import Path

from stoker.proxmox import discovery as _discovery

globals().update(
    _discovery.groups(os.environ.get("STOKER_PROXMOX") or Path(__file__).with_name("proxmox.yaml"))
)
