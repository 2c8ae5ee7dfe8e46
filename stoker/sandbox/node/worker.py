#!/usr/bin/python3 -I
"""Stand-in: the process of one task, or of one change, of the node's API."""

import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.exit(importlib.import_module("node.web.work").main())
