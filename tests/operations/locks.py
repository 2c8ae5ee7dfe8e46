"""Small locks for tests of operations."""

from stoker.serving import lock
from stoker.serving.lock import Lock, Release
from stoker.serving.tools import Tool

TAGS = {"3.11": "cp311", "3.13": "cp313"}
UV = Tool("uv", "0.13.9", "uv-0.13.9-py3-none-any.whl", "c" * 64, "uv", 38409000, "d" * 64)
PIP = Tool("pip", "25.3", "pip-25.3-py3-none-any.whl", "e" * 64)


def made(tag: str = "cp311", sglang: str = "0.5.12", torch_bytes: int = 530) -> Lock:
    """A lock of three wheels."""
    files = {
        ("cuda-toolkit", "13.0.2"): ("cuda_toolkit-13.0.2-py2.py3-none-any.whl", 10),
        ("sglang", sglang): (f"sglang-{sglang}-{tag}-{tag}-linux_x86_64.whl", 60),
        ("torch", "2.11.0"): (f"torch-2.11.0-{tag}-{tag}-linux_x86_64.whl", torch_bytes),
    }
    lines = [
        f"{name}=={version} --hash=sha256:{'a' * 64}  # {file} {size}\n"
        for (name, version), (file, size) in files.items()
    ]
    return lock.parse("".join(lines), tag)


def release(sglang: str = "0.5.12", torch_bytes: int = 530) -> Release:
    """A release with a lock for each of `TAGS`."""
    return Release(sglang, tuple(made(tag, sglang, torch_bytes) for tag in TAGS.values()))
