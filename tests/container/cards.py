"""GPUs and device nodes of a node, for tests."""

from stoker.container.devices import Card

FIRST = Card("GPU-4d0f7a52-90b3-5d1e-8a51-0c9d2f7e1a01", "0000:01:00.0", 0)
SECOND = Card("GPU-4d0f7a52-90b3-5d1e-8a51-0c9d2f7e1a02", "0000:21:00.0", 1)
OF_A_VM = Card("", "0000:41:00.0", None, "vfio-pci")
CARDS = (FIRST, SECOND)

NUMBERS = {
    "/dev/nvidia0": (195, 0),
    "/dev/nvidia1": (195, 1),
    "/dev/nvidiactl": (195, 255),
    "/dev/nvidia-uvm": (511, 0),
    "/dev/nvidia-uvm-tools": (511, 1),
    "/dev/nvidia-caps/nvidia-cap1": (236, 1),
    "/dev/nvidia-caps/nvidia-cap2": (236, 2),
}
MAJORS = {
    1: "mem",
    10: "misc",
    195: "nvidia",
    226: "drm",
    234: "aux",
    236: "nvidia-caps",
    511: "nvidia-uvm",
}
