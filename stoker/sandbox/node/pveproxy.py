#!/usr/bin/python3 -I
"""Stand-in: the node's API at https://<node>:8006, run by pveproxy.service."""

import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.exit(importlib.import_module("node.web.server").main())
