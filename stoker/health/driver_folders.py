"""Where the driver's libraries lie, on a node and in a container, and how a version is written."""

from __future__ import annotations

FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
)
"""Where packages and NVIDIA's installer put them."""
CURRENT = "/opt/stoker/driver/current"
"""A link to the tree of ours that holds, in a container; those of before lie beside it."""
VERSION = r"\d{2,4}(?:\.\d{1,4}){1,3}"
"""Pattern of a version; a library's file ends in it."""
