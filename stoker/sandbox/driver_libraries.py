"""The user half of the stand-in driver, built from `libcuda.c` and `libnvidia_ml.c`."""

import hashlib
import tempfile
from pathlib import Path

from stoker.sandbox import commands, places
from stoker.sandbox.files import replace_link, write_atomically

HERE = Path(__file__).parent

# What sglang-kernel 0.4.2.post2 and 0.4.10 and sgl-deep-gemm 0.1.0 and 0.2.3.post2 leave undefined
# (nm -D --undefined-only over all their libraries), and the first calls of any CUDA program.
_CUDA = """
cuCtxFromGreenCtx cuCtxPopCurrent_v2 cuCtxPushCurrent_v2 cuDevResourceGenerateDesc
cuDevSmResourceSplitByCount cuDeviceGetDevResource cuDriverGetVersion cuGetProcAddress_v2
cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxGetDevResource cuMemAddressFree
cuMemGetAddressRange_v2 cuMemRelease cuMemRetainAllocationHandle cuMemSetAccess cuMemUnmap
cuPointerGetAttribute cuStreamCreate cuInit cuDeviceGet cuDeviceGetCount cuDeviceGetAttribute
cuDeviceGetName cuCtxCreate_v2 cuCtxGetCurrent cuCtxGetDevice cuCtxSetCurrent
cuDevicePrimaryCtxRetain cuGetProcAddress cuLaunchKernel cuModuleGetFunction cuModuleLoadData
"""


_NVML = """
nvmlInit nvmlInit_v2 nvmlInitWithFlags nvmlShutdown nvmlDeviceGetCount_v2
nvmlDeviceGetHandleByIndex_v2 nvmlSystemGetDriverVersion nvmlSystemGetNVMLVersion
"""
# Library -> its source, and the functions it exports.
LIBRARIES = {
    "libcuda.so": ("libcuda.c", _CUDA),
    "libnvidia-ml.so": ("libnvidia_ml.c", _NVML),
}
# Placed last: where it is, all are.
LAST = "libnvidia-ml.so"


def placed(directory: Path, version: str) -> list[Path]:
    """The libraries of that driver version and their links lie in the directory; give them all.

    Those of other versions go, as an installer takes them away.
    """
    written: list[Path] = []
    for name in LIBRARIES:
        made = _built(name, version)
        for other in directory.glob(f"{name}.[0-9]*.[0-9]*"):
            if other.name != made.name:
                other.unlink()
        target = directory / made.name
        write_atomically(target, made.read_bytes(), 0o755)
        replace_link(directory / f"{name}.1", made.name)
        replace_link(directory / name, f"{name}.1")
        written += [target, directory / f"{name}.1", directory / name]
    return written


def _built(name: str, version: str) -> Path:
    """The library file of that driver version in the cache, compiled if it is not there."""
    source, symbols = LIBRARIES[name]
    text = (HERE / source).read_text() + symbols + version
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    kept = places.LIBRARIES / digest / f"{name}.{version}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            answers = "".join(f"ANSWER({symbol})\n" for symbol in symbols.split())
            write_atomically(Path(scratch, "symbols.h"), answers)
            made = Path(scratch, kept.name)
            flags = ["-shared", "-fPIC", "-O1", f"-Wl,-soname,{name}.1", "-I", scratch]
            commands.run(["gcc", *flags, "-o", made, HERE / source])
            made.rename(kept)
    return kept
