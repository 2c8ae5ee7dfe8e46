"""Building the stand-in libcuda.so.1 from `libcuda.c`."""

import hashlib
import tempfile
from pathlib import Path

from stoker.sandbox import commands, places
from stoker.sandbox.files import write_atomically

SOURCE = Path(__file__).parent / "libcuda.c"

# What sglang-kernel 0.4.2.post2 and 0.4.10 and sgl-deep-gemm 0.1.0 and 0.2.3.post2 leave undefined
# (nm -D --undefined-only over all their libraries), and the first calls of any CUDA program.
_SYMBOLS = """
cuCtxFromGreenCtx cuCtxPopCurrent_v2 cuCtxPushCurrent_v2 cuDevResourceGenerateDesc
cuDevSmResourceSplitByCount cuDeviceGetDevResource cuDriverGetVersion cuGetProcAddress_v2
cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxGetDevResource cuMemAddressFree
cuMemGetAddressRange_v2 cuMemRelease cuMemRetainAllocationHandle cuMemSetAccess cuMemUnmap
cuPointerGetAttribute cuStreamCreate cuInit cuDeviceGet cuDeviceGetCount cuDeviceGetAttribute
cuDeviceGetName cuCtxCreate_v2 cuCtxGetCurrent cuCtxGetDevice cuCtxSetCurrent
cuDevicePrimaryCtxRetain cuGetProcAddress cuLaunchKernel cuModuleGetFunction cuModuleLoadData
"""


def built(version: str) -> Path:
    """The library file of that driver version in the cache, compiled if it is not there."""
    text = SOURCE.read_text() + _SYMBOLS
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    kept = places.LIBRARIES / digest / f"libcuda.so.{version}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            answers = "".join(f"ANSWER({name})\n" for name in _SYMBOLS.split())
            write_atomically(Path(scratch, "symbols.h"), answers)
            made = Path(scratch, kept.name)
            flags = ["-shared", "-fPIC", "-O1", "-Wl,-soname,libcuda.so.1", "-I", scratch]
            commands.run(["gcc", *flags, "-o", made, SOURCE])
            made.rename(kept)
    return kept
