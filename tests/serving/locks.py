"""A small lock for tests."""

from stoker.serving.lock import Lock, Release, Wheel


def release() -> Release:
    """SGLang 0.5.12 for Python 3.11, nothing in it but its name."""
    wheel = Wheel("sglang", "0.5.12", "0" * 64, "sglang-0.5.12-cp311-cp311-linux_x86_64.whl", 1)
    return Release("0.5.12", (Lock("cp311", "0123456789abcdef", (wheel,)),))
