#!/usr/bin/python3 -I
"""Stand-in: LXC's hooks of a container of Proxmox: pre-start and post-stop."""

import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.exit(importlib.import_module("node.hooks").main(sys.argv[1:], os.environ))
