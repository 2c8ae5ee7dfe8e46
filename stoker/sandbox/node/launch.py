#!/usr/bin/python3 -I
"""Stand-in: the one program behind pct, pvesh, pveum, pveversion and ha-manager on a node.

It is told apart by the name it is called by, as busybox is. Burns the CPU of the real program's
start-up first, so that nothing here is faster than the thing it stands for.
"""

from __future__ import annotations

import importlib
import os
import sys

MODULES = {
    **{name: name for name in ("pct", "pvesh", "pveversion", "pveum")},
    "ha-manager": "ha_manager",
}


def main() -> int:
    """The exit code of the program named by argv[0]."""
    sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
    name = os.path.basename(sys.argv[0])
    if name not in MODULES:
        known = ", ".join(sorted(MODULES))
        print(f"cannot run {name}: no such stand-in; call one of {known}", file=sys.stderr)
        return 255
    importlib.import_module("node.locale_warning").warn(os.environ)
    importlib.import_module("node.startup_cost").burn()
    program = importlib.import_module(f"node.{MODULES[name]}")
    return int(program.main(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
